@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read> u_bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(3) var<uniform> numbers: array<vec4<u32>, 5>;
override width: u32 = 64u;

fn user_kni_soft_divide_u64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    var v1: u32 = a1;
    var v2: u32 = a2;
    if ((a2 | a4) == 0u) {
        let t1 = a3 == 0u;
        var v3: u32;
        if (t1) {
            v3 = 0u;
        } else {
            v3 = select(a1 / select(a3, 1u, t1), 0u, t1);
        }
        return vec2<u32>(v3, 0u);
    }
    if ((a3 == 0u) && (a4 == 0u)) {
        return vec2<u32>(0u, 0u);
    }
    var v4: u32 = 0u;
    var v5: u32 = 0u;
    var v6: u32 = 0u;
    var v7: u32 = 0u;
    var v8: i32 = 0i;
    loop {
        if (!(v8 < 64i)) { break; }
        let t2 = v7;
        let t3 = (t2 << 1u) | (v6 >> 31u);
        let t4 = v1;
        let t5 = v2;
        let t6 = (v6 << 1u) | (t5 >> 31u);
        v6 = t6;
        v7 = t3;
        v1 = t4 << 1u;
        v2 = (t5 << 1u) | (t4 >> 31u);
        let t7 = v4 << 1u;
        let t8 = (v5 << 1u) | (v4 >> 31u);
        v4 = t7;
        v5 = t8;
        if ((!((t2 >> 31u) == 0u)) || ((a4 < t3) || ((a4 == t3) && (a3 <= t6)))) {
            v6 = t6 - a3;
            v7 = (t3 - a4) - select(0u, 1u, (t6 < a3));
            v4 = t7 | 1u;
            v5 = t8;
        }
        continuing {
            v8 = v8 + 1i;
        }
    }
    return vec2<u32>(v4, v5);
}

fn user_kni_soft_upper_product(a1: u32, a2: u32) -> u32 {
    let t1 = a1 & 65535u;
    let t2 = a1 >> 16u;
    let t3 = a2 & 65535u;
    let t4 = a2 >> 16u;
    let t5 = (t2 * t3) + ((t1 * t3) >> 16u);
    return ((t2 * t4) + (t5 >> 16u)) + (((t1 * t4) + (t5 & 65535u)) >> 16u);
}

fn user_kni_soft_rest_u64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    if ((a2 | a4) == 0u) {
        let t1 = a3 == 0u;
        var v1: u32;
        if (t1) {
            v1 = 0u;
        } else {
            v1 = select(a1 % select(a3, 1u, t1), 0u, t1);
        }
        return vec2<u32>(v1, 0u);
    }
    var v2: u32;
    var v3: u32;
    if ((a3 == 0u) && (a4 == 0u)) {
        v2 = 0u;
        v3 = 0u;
    } else {
        let t2 = user_kni_soft_divide_u64(a1, a2, a3, a4);
        let t3 = t2.x;
        let t4 = t3 * a3;
        v2 = a1 - t4;
        v3 = (a2 - (user_kni_soft_upper_product(t3, a3) + ((t3 * a4) + (t2.y * a3)))) - select(0u, 1u, (a1 < t4));
    }
    return vec2<u32>(v2, v3);
}

fn user_kni_soft_rest_i64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    let t1 = (bitcast<i32>(a2) < 0i) || ((a2 == 0u) && (a1 < 0u));
    let t2 = (bitcast<i32>(a4) < 0i) || ((a4 == 0u) && (a3 < 0u));
    let t3 = user_kni_soft_rest_u64(select(a1, 0u - a1, t1), select(a2, (0u - a2) - select(0u, 1u, (0u < a1)), t1), select(a3, 0u - a3, t2), select(a4, (0u - a4) - select(0u, 1u, (0u < a3)), t2));
    let t4 = t3.x;
    let t5 = t3.y;
    let t6 = vec2<u32>(select(t4, 0u - t4, t1), select(t5, (0u - t5) - select(0u, 1u, (0u < t4)), t1));
    return t6;
}

fn user_kni_word_rem_i64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    let t1 = a4 == 0u;
    let t2 = (a3 == 0u) && t1;
    var v1: bool = t2;
    let t3 = !t2;
    if (t3) {
        let t4 = a3 + 1u;
        v1 = (t4 == 0u) && ((a4 + select(0u, 1u, (t4 < a3))) == 0u);
    }
    var v2: u32;
    var v3: u32;
    if (v1) {
        v2 = 0u;
        v3 = 0u;
    } else {
        let t5 = user_kni_soft_rest_i64(a1, a2, a3, a4);
        v2 = t5.x;
        v3 = t5.y;
    }
    let t6 = v2;
    let t7 = v3;
    var v4: bool = t2;
    if (t3) {
        let t8 = a3 + 1u;
        v4 = (t8 == 0u) && ((a4 + select(0u, 1u, (t8 < a3))) == 0u);
    }
    var v5: u32;
    var v6: u32;
    if (v4) {
        v5 = 0u;
        v6 = 0u;
    } else {
        let t9 = user_kni_soft_rest_i64(a1, a2, a3, a4);
        v5 = t9.x;
        v6 = t9.y;
    }
    let t10 = !((v5 == 0u) && (v6 == 0u));
    var v7: bool = t10;
    if (t10) {
        let t11 = (bitcast<i32>(a2) < 0i) || ((a2 == 0u) && (a1 < 0u));
        let t12 = (bitcast<i32>(a4) < 0i) || (t1 && (a3 < 0u));
        v7 = (t11 && (!t12)) || ((!t11) && t12);
    }
    let t13 = t6 + select(0u, a3, v7);
    let t14 = vec2<u32>(t13, (t7 + select(0u, a4, v7)) + select(0u, 1u, (t13 < t6)));
    return t14;
}

@compute @workgroup_size(width)
fn kn_pointwise(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    let t1 = user_kni_word_rem_i64(item, 0u, numbers[4].z, numbers[4].w);
    let t2 = (u_x[item + numbers[2].z] * bitcast<f32>(numbers[4].x)) + u_bias[t1.x + numbers[3].x];
    u_y[item + numbers[3].z] = select(select(0.0f, t2, t2 > 0.0f), t2, (bitcast<u32>(t2) & 2147483647u) > 2139095040u) / 3.0f;
}
