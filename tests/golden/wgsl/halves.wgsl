@group(0) @binding(0) var<storage, read> u_x: array<u32>;
@group(0) @binding(1) var<storage, read> u_s: array<f32>;
@group(0) @binding(2) var<storage, read_write> u_y: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> u_t: array<atomic<u32>>;
@group(0) @binding(4) var<uniform> numbers: array<vec4<u32>, 5>;
override width: u32 = 64u;

fn user_kni_soft_f32_f16(a1: u32) -> u32 {
    let t1 = (a1 & 32768u) << 16u;
    let t2 = a1 & 32767u;
    if (31744u <= t2) {
        return (t1 | 2139095040u) | ((t2 & 1023u) << 13u);
    }
    if (1024u <= t2) {
        return t1 | ((t2 << 13u) + 939524096u);
    }
    var v1: u32 = t2;
    var v2: u32 = 947912704u;
    if (t2 == 0u) {
        return t1;
    }
    var v3: i32 = 0i;
    loop {
        if (!((v3 < 10i) && (v1 < 1024u))) { break; }
        v1 = v1 << 1u;
        v2 = v2 - 8388608u;
        continuing {
            v3 = v3 + 1i;
        }
    }
    return t1 | (v2 + ((v1 & 1023u) << 13u));
}

fn user_kni_soft_f16_f32(a1: u32) -> u32 {
    let t1 = (a1 >> 16u) & 32768u;
    let t2 = a1 & 2147483647u;
    if ((2139095040u < t2)) {
        return t1 | 32256u;
    }
    if (1199570944u <= t2) {
        return t1 | 31744u;
    }
    if ((t2 < 855638016u)) {
        return t1;
    }
    let t3 = (t2 & 8388607u) | 8388608u;
    var v1: u32 = 13u;
    let t4 = t2 < 947912704u;
    if (t4) {
        v1 = (113u - (t2 >> 23u)) + 13u;
    }
    let t5 = v1 < 32u;
    let t6 = v1 & 31u;
    let t7 = select(0u, t3 >> t6, t5);
    var v2: u32 = t7;
    let t8 = t3 & (select(0u, 1u << t6, t5) - 1u);
    let t9 = v1 - 1u;
    let t10 = select(0u, 1u << (t9 & 31u), (t9 < 32u));
    if ((t10 < t8) || ((t8 == t10) && (!((t7 & 1u) == 0u)))) {
        v2 = t7 + 1u;
    }
    return t1 | select(v2 + (((t2 >> 23u) - 113u) << 10u), v2, t4);
}

fn user_kni_soft_bf16_f32(a1: u32) -> u32 {
    if ((2139095040u < (a1 & 2147483647u))) {
        return (a1 >> 16u) | 64u;
    }
    return ((a1 + 32767u) + ((a1 >> 16u) & 1u)) >> 16u;
}

@compute @workgroup_size(width)
fn kn_halves(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    let t1 = item + numbers[2].z;
    let t2 = bitcast<u32>(bitcast<f32>(user_kni_soft_f32_f16((u_x[t1 >> 1u] >> ((t1 & 1u) * 16u)) & 65535u)) * u_s[item + numbers[3].x]);
    let t3 = bitcast<f32>(user_kni_soft_f32_f16(user_kni_soft_f16_f32(t2)));
    let t4 = item + numbers[3].z;
    let t5 = (t4 & 1u) * 16u;
    let t6 = t4 >> 1u;
    let t7 = user_kni_soft_bf16_f32(bitcast<u32>(t3)) << t5;
    var v1: u32 = atomicLoad(&u_y[t6]);
    let t8 = ~(65535u << t5);
    loop {
        let t9 = v1;
        var t10: u32;
        loop {
            let seen1 = atomicCompareExchangeWeak(&u_y[t6], t9, (t9 & t8) | t7);
            t10 = seen1.old_value;
            if (seen1.exchanged || seen1.old_value != t9) { break; }
        }
        if (t10 == t9) {
            break;
        }
        v1 = t10;
    }
    let t11 = item + numbers[4].x;
    let t12 = (t11 & 3u) * 8u;
    let t13 = t11 >> 2u;
    let t14 = select(0u, 1u, t3 > 0.5f) << t12;
    var v2: u32 = atomicLoad(&u_t[t13]);
    let t15 = ~(255u << t12);
    loop {
        let t16 = v2;
        var t17: u32;
        loop {
            let seen2 = atomicCompareExchangeWeak(&u_t[t13], t16, (t16 & t15) | t14);
            t17 = seen2.old_value;
            if (seen2.exchanged || seen2.old_value != t16) { break; }
        }
        if (t17 == t16) {
            break;
        }
        v2 = t17;
    }
}
