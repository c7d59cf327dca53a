@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> u_z: array<atomic<u32>>;
@group(0) @binding(3) var<uniform> numbers: array<vec4<u32>, 5>;
override width: u32 = 64u;

fn user_kni_soft_i64_f32(a1: u32) -> vec2<u32> {
    let t1 = a1 & 2147483647u;
    let t2 = bitcast<i32>(t1 >> 23u) - 127i;
    let t3 = (t1 & 8388607u) | 8388608u;
    if ((2139095040u < t1) || (t2 < 0i)) {
        return vec2<u32>(0u, 0u);
    }
    if ((62i < t2)) {
        let t4 = !((a1 >> 31u) == 0u);
        return vec2<u32>(select(4294967295u, 0u, t4), select(2147483647u, 2147483648u, t4));
    }
    let t5 = t2 < 23i;
    let t6 = 23i - t2;
    let t7 = bitcast<u32>(t6);
    let t8 = t7 & 31u;
    let t9 = 0u >> t8;
    let t10 = t7 >= 32u;
    let t11 = (t7 < 64u) && (bitcast<u32>(t6 >> 31u) == 0u);
    let t12 = t2 - 23i;
    let t13 = bitcast<u32>(t12);
    let t14 = t13 & 31u;
    let t15 = t3 << t14;
    let t16 = t13 >= 32u;
    let t17 = (t13 < 64u) && (bitcast<u32>(t12 >> 31u) == 0u);
    let t18 = select(select(0u, select(t15, 0u, t16), t17), select(0u, select((t3 >> t8) | (0u << (31u - t8)), t9, t10), t11), t5);
    let t19 = select(select(0u, select((0u << t14) | ((t3 >> 1u) >> (31u - t14)), t15, t16), t17), select(0u, select(t9, 0u, t10), t11), t5);
    let t20 = !((a1 >> 31u) == 0u);
    let t21 = vec2<u32>(select(t18, 0u - t18, t20), select(t19, (0u - t19) - select(0u, 1u, (0u < t18)), t20));
    return t21;
}

fn user_kni_soft_upper_product(a1: u32, a2: u32) -> u32 {
    let t1 = a1 & 65535u;
    let t2 = a1 >> 16u;
    let t3 = a2 & 65535u;
    let t4 = a2 >> 16u;
    let t5 = (t2 * t3) + ((t1 * t3) >> 16u);
    return ((t2 * t4) + (t5 >> 16u)) + (((t1 * t4) + (t5 & 65535u)) >> 16u);
}

@compute @workgroup_size(width)
fn kn_masked(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    let t1 = numbers[4].x;
    let t2 = numbers[4].y;
    let t3 = item - 3u;
    let t4 = 0u - select(0u, 1u, (item < 3u));
    let t5 = bitcast<i32>(t4);
    let t6 = bitcast<i32>(t2);
    let t7 = numbers[2].z;
    let t8 = t3 + t7;
    var v1: f32 = (-1.0f);
    if (((0i < t5) || ((t4 == 0u) && (0u <= t3))) && ((t5 < t6) || ((t4 == t2) && (t3 < t1)))) {
        v1 = u_x[t8];
    }
    let t9 = v1;
    let t10 = item + numbers[3].z;
    if (!(t9 == (-1.0f))) {
        let t11 = user_kni_soft_i64_f32(bitcast<u32>(t9));
        let t12 = (t10 & 3u) * 8u;
        let t13 = t10 >> 2u;
        let t14 = (t11.x & 255u) << t12;
        var v2: u32 = atomicLoad(&u_z[t13]);
        let t15 = ~(255u << t12);
        loop {
            let t16 = v2;
            var t17: u32;
            loop {
                let seen1 = atomicCompareExchangeWeak(&u_z[t13], t16, (t16 & t15) | t14);
                t17 = seen1.old_value;
                if (seen1.exchanged || seen1.old_value != t16) { break; }
            }
            if (t17 == t16) {
                break;
            }
            v2 = t17;
        }
    }
    let t18 = user_kni_soft_upper_product(item, 4u);
    let t19 = item * 4u;
    let t20 = (bitcast<i32>(t18) < t6) || ((t18 == t2) && (t19 < t1));
    let t21 = t19 + 1u;
    let t22 = t18 + select(0u, 1u, (t21 < t19));
    let t23 = (bitcast<i32>(t22) < t6) || ((t22 == t2) && (t21 < t1));
    let t24 = t19 + 2u;
    let t25 = t18 + select(0u, 1u, (t24 < t19));
    let t26 = (bitcast<i32>(t25) < t6) || ((t25 == t2) && (t24 < t1));
    let t27 = t19 + 3u;
    let t28 = t18 + select(0u, 1u, (t27 < t19));
    let t29 = (bitcast<i32>(t28) < t6) || ((t28 == t2) && (t27 < t1));
    let t30 = t19 + t7;
    var v3: f32 = t9;
    if (t20) {
        v3 = u_x[t30];
    }
    let t31 = v3;
    var v4: f32 = t9;
    if (t23) {
        v4 = u_x[t30 + 1u];
    }
    let t32 = v4;
    var v5: f32 = t9;
    if (t26) {
        v5 = u_x[t30 + 2u];
    }
    let t33 = v5;
    var v6: f32 = t9;
    if (t29) {
        v6 = u_x[t30 + 3u];
    }
    let t34 = t31 * 2.0f;
    let t35 = t32 * 2.0f;
    let t36 = t33 * 2.0f;
    let t37 = v6 * 2.0f;
    let t38 = t19 + numbers[3].x;
    if (t20) {
        u_y[t38] = t34;
    }
    if (t23) {
        u_y[t38 + 1u] = t35;
    }
    if (t26) {
        u_y[t38 + 2u] = t36;
    }
    if (t29) {
        u_y[t38 + 3u] = t37;
    }
}
