@group(0) @binding(0) var<storage, read> u_x: array<u32>;
@group(0) @binding(1) var<storage, read> u_u: array<u32>;
@group(0) @binding(2) var<storage, read> u_i: array<i32>;
@group(0) @binding(3) var<storage, read_write> u_y: array<u32>;
@group(0) @binding(4) var<storage, read_write> u_h: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> u_f: array<f32>;
@group(0) @binding(6) var<storage, read_write> u_w: array<u32>;
@group(0) @binding(7) var<uniform> numbers: array<vec4<u32>, 7>;
override width: u32 = 64u;

fn user_kni_soft_upper_product(a1: u32, a2: u32) -> u32 {
    let t1 = a1 & 65535u;
    let t2 = a1 >> 16u;
    let t3 = a2 & 65535u;
    let t4 = a2 >> 16u;
    let t5 = (t2 * t3) + ((t1 * t3) >> 16u);
    return ((t2 * t4) + (t5 >> 16u)) + (((t1 * t4) + (t5 & 65535u)) >> 16u);
}

fn user_kni_soft_philox(a1: u32, a2: u32, a3: u32, a4: u32, a5: u32) -> u32 {
    var v1: u32 = a1;
    var v2: u32 = a2;
    var v3: u32 = a3;
    var v4: u32 = a4;
    var v5: u32 = 0u;
    var v6: u32 = 0u;
    var v7: i32 = 0i;
    loop {
        if (!(v7 < 10i)) { break; }
        let t1 = v3;
        let t2 = v5;
        let t3 = v1;
        v3 = (user_kni_soft_upper_product(t2, 3449720151u) ^ v4) ^ t3;
        v4 = t2 * 3449720151u;
        let t4 = v2;
        v5 = (user_kni_soft_upper_product(t1, 3528531795u) ^ v6) ^ t4;
        v6 = t1 * 3528531795u;
        v1 = t3 + 2654435769u;
        v2 = t4 + 3144134277u;
        continuing {
            v7 = v7 + 1i;
        }
    }
    let t5 = !((a5 & 2u) == 0u);
    return select(select(v3, v5, t5), select(v4, v6, t5), !((a5 & 1u) == 0u));
}

fn user_kni_soft_exponent(a1: u32, a2: u32) -> i32 {
    return bitcast<i32>((a2 >> 20u) & 2047u);
}

fn user_kni_soft_leading_zeros(a1: u32, a2: u32) -> i32 {
    let t1 = a2 == 0u;
    let t2 = select(a2, a1, t1);
    let t3 = t2 < 65536u;
    let t4 = select(t2, t2 << 16u, t3);
    let t5 = t4 < 16777216u;
    let t6 = select(t4, t4 << 8u, t5);
    let t7 = t6 < 268435456u;
    let t8 = select(t6, t6 << 4u, t7);
    let t9 = t8 < 1073741824u;
    let t10 = ((((select(0i, 32i, t1) + select(0i, 16i, t3)) + select(0i, 8i, t5)) + select(0i, 4i, t7)) + select(0i, 2i, t9)) + select(0i, 1i, (select(t8, t8 << 2u, t9) < 2147483648u));
    return t10;
}

fn user_kni_soft_significand(a1: u32, a2: u32) -> vec2<u32> {
    let t1 = a1 & 4294967295u;
    let t2 = a2 & 1048575u;
    if (!(user_kni_soft_exponent(a1, a2) == 0i)) {
        return vec2<u32>(t1 << 11u, ((t2 | 1048576u) << 11u) | (t1 >> 21u));
    }
    let t3 = user_kni_soft_leading_zeros(t1, t2);
    let t4 = bitcast<u32>(t3);
    let t5 = t4 & 31u;
    let t6 = t1 << t5;
    let t7 = t4 >= 32u;
    let t8 = (t4 < 64u) && (bitcast<u32>(t3 >> 31u) == 0u);
    let t9 = vec2<u32>(select(0u, select(t6, 0u, t7), t8), select(0u, select((t2 << t5) | ((t1 >> 1u) >> (31u - t5)), t6, t7), t8));
    return t9;
}

fn user_kni_soft_power(a1: u32, a2: u32) -> i32 {
    let t1 = user_kni_soft_exponent(a1, a2);
    if (!(t1 == 0i)) {
        return t1 - 1023i;
    }
    return (-1011i) - user_kni_soft_leading_zeros(a1 & 4294967295u, a2 & 1048575u);
}

fn user_kni_soft_shift_sticky(a1: u32, a2: u32, a3: i32) -> vec2<u32> {
    if ((63i < a3)) {
        let t1 = select(1i, 0i, (a1 == 0u) && (a2 == 0u));
        return vec2<u32>(bitcast<u32>(t1), bitcast<u32>(t1 >> 31u));
    }
    let t2 = bitcast<u32>(a3);
    let t3 = t2 & 31u;
    let t4 = 31u - t3;
    let t5 = a2 >> t3;
    let t6 = t2 >= 32u;
    let t7 = (t2 < 64u) && (bitcast<u32>(a3 >> 31u) == 0u);
    let t8 = select(0u, select((a1 >> t3) | ((a2 << 1u) << t4), t5, t6), t7);
    let t9 = select(0u, select(t5, 0u, t6), t7);
    let t10 = t8 << t3;
    let t11 = select(t8 | 1u, t8, (select(0u, select(t10, 0u, t6), t7) == a1) && (select(0u, select((t9 << t3) | ((t8 >> 1u) >> t4), t10, t6), t7) == a2));
    return vec2<u32>(t11, t9);
}

fn user_kni_soft_pack(a1: u32, a2: u32, a3: i32, a4: u32, a5: u32) -> vec2<u32> {
    var v1: u32 = a4;
    var v2: u32 = a5;
    let t1 = a3 + 1023i;
    var v3: i32 = t1;
    if ((2046i < t1)) {
        return vec2<u32>(a1, a2 | 2146435072u);
    }
    if ((t1 < 1i)) {
        let t2 = user_kni_soft_shift_sticky(a4, a5, 1i - t1);
        v1 = t2.x;
        v2 = t2.y;
        v3 = 1i;
    }
    let t3 = v1 & 1023u;
    let t4 = v2 >> 10u;
    let t5 = (v1 >> 10u) | (v2 << 22u);
    var v4: u32 = t5;
    var v5: u32 = t4;
    if ((512u < t3) || ((t3 == 512u) && (!((t5 & 1u) == 0u)))) {
        let t6 = t5 + 1u;
        v4 = t6;
        v5 = t4 + select(0u, 1u, (t6 < t5));
    }
    let t7 = ((bitcast<u32>(select(v3 - 1i, 0i, (v5 >> 20u) == 0u)) << 20u) + v5) + select(0u, 1u, (v4 < 0u));
    return vec2<u32>(a1 | v4, a2 | t7);
}

fn user_kni_soft_pack_any(a1: u32, a2: u32, a3: i32, a4: u32, a5: u32) -> vec2<u32> {
    if (!((a5 >> 31u) == 0u)) {
        let t1 = user_kni_soft_pack(a1, a2, a3 + 1i, ((a4 >> 1u) | (a5 << 31u)) | (a4 & 1u), a5 >> 1u);
        return t1;
    }
    let t2 = user_kni_soft_leading_zeros(a4, a5) - 1i;
    let t3 = bitcast<u32>(t2);
    let t4 = t3 & 31u;
    let t5 = a4 << t4;
    let t6 = t3 >= 32u;
    let t7 = (t3 < 64u) && (bitcast<u32>(t2 >> 31u) == 0u);
    let t8 = user_kni_soft_pack(a1, a2, a3 - t2, select(0u, select(t5, 0u, t6), t7), select(0u, select((a5 << t4) | ((a4 >> 1u) >> (31u - t4)), t5, t6), t7));
    return t8;
}

fn user_kni_soft_mul_f64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    let t1 = (a2 ^ a4) & 2147483648u;
    let t2 = a1 & 4294967295u;
    let t3 = a2 & 2147483647u;
    let t4 = a3 & 4294967295u;
    let t5 = a4 & 2147483647u;
    let t6 = t3 == 2146435072u;
    let t7 = t5 == 2146435072u;
    if (((2146435072u < t3) || (t6 && (0u < t2))) || ((2146435072u < t5) || (t7 && (0u < t4)))) {
        return vec2<u32>(0u, 2146959360u);
    }
    let t8 = t2 == 0u;
    let t9 = t4 == 0u;
    if ((t8 && t6) || (t9 && t7)) {
        let t10 = vec2<u32>(0u, select(t1 | 2146435072u, 2146959360u, (t8 && (t3 == 0u)) || (t9 && (t5 == 0u))));
        return t10;
    }
    if ((t8 && (t3 == 0u)) || (t9 && (t5 == 0u))) {
        return vec2<u32>(0u, t1);
    }
    let t11 = user_kni_soft_significand(t2, t3);
    let t12 = t11.x;
    let t13 = t11.y;
    let t14 = user_kni_soft_significand(t4, t5);
    let t15 = t14.x;
    let t16 = t14.y;
    let t17 = t13 * t15;
    let t18 = t17 + user_kni_soft_upper_product(t12, t15);
    let t19 = t12 * t16;
    let t20 = t19 + (t18 & 4294967295u);
    let t21 = t13 * t16;
    let t22 = t21 + (user_kni_soft_upper_product(t13, t15) + select(0u, 1u, (t18 < t17)));
    let t23 = t22 + (user_kni_soft_upper_product(t12, t16) + select(0u, 1u, (t20 < t19)));
    let t24 = (user_kni_soft_upper_product(t13, t16) + select(0u, 1u, (t22 < t21))) + select(0u, 1u, (t23 < t22));
    var v1: u32 = t23;
    var v2: u32 = t24;
    if ((!(t20 == 0u)) || (!((t12 * t15) == 0u))) {
        v1 = t23 | 1u;
        v2 = t24;
    }
    let t25 = user_kni_soft_pack_any(0u, t1, user_kni_soft_power(t2, t3) + user_kni_soft_power(t4, t5), v1, v2);
    return t25;
}

fn user_kni_soft_whole_f64(a1: u32, a2: u32) -> vec2<u32> {
    let t1 = user_kni_soft_exponent(a1, a2) - 1023i;
    let t2 = a1 & 4294967295u;
    let t3 = (a2 & 1048575u) | 1048576u;
    if ((t1 < 0i)) {
        return vec2<u32>(0u, 0u);
    }
    let t4 = t1 < 52i;
    let t5 = 52i - t1;
    let t6 = bitcast<u32>(t5);
    let t7 = t6 & 31u;
    let t8 = t3 >> t7;
    let t9 = t6 >= 32u;
    let t10 = (t6 < 64u) && (bitcast<u32>(t5 >> 31u) == 0u);
    let t11 = t1 - 52i;
    let t12 = bitcast<u32>(t11);
    let t13 = t12 & 31u;
    let t14 = t2 << t13;
    let t15 = t12 >= 32u;
    let t16 = (t12 < 64u) && (bitcast<u32>(t11 >> 31u) == 0u);
    let t17 = vec2<u32>(select(select(0u, select(t14, 0u, t15), t16), select(0u, select((t2 >> t7) | ((t3 << 1u) << (31u - t7)), t8, t9), t10), t4), select(select(0u, select((t3 << t13) | ((t2 >> 1u) >> (31u - t13)), t14, t15), t16), select(0u, select(t8, 0u, t9), t10), t4));
    return t17;
}

fn user_kni_soft_i64_f64(a1: u32, a2: u32) -> vec2<u32> {
    let t1 = a1 & 4294967295u;
    let t2 = a2 & 2147483647u;
    if ((2146435072u < t2) || ((t2 == 2146435072u) && (0u < t1))) {
        return vec2<u32>(0u, 0u);
    }
    if ((1138753536u < t2) || ((t2 == 1138753536u) && (0u <= t1))) {
        let t3 = !((a2 >> 31u) == 0u);
        return vec2<u32>(select(4294967295u, 0u, t3), select(2147483647u, 2147483648u, t3));
    }
    let t4 = user_kni_soft_whole_f64(t1, t2);
    let t5 = t4.x;
    let t6 = t4.y;
    let t7 = !((a2 >> 31u) == 0u);
    let t8 = vec2<u32>(select(t5, 0u - t5, t7), select(t6, (0u - t6) - select(0u, 1u, (0u < t5)), t7));
    return t8;
}

fn user_kni_soft_f32_f64(a1: u32, a2: u32) -> u32 {
    let t1 = a2 & 2147483648u;
    let t2 = a1 & 4294967295u;
    let t3 = a2 & 2147483647u;
    if ((2146435072u < t3) || ((t3 == 2146435072u) && (0u < t2))) {
        return 2143289344u;
    }
    if ((1206910976u < t3) || ((t3 == 1206910976u) && (0u <= t2))) {
        return t1 | 2139095040u;
    }
    let t4 = (user_kni_soft_exponent(t2, t3) - 1023i) + 127i;
    var v1: i32 = t4;
    if ((t4 < (-30i))) {
        return t1;
    }
    let t5 = t2 & 4294967295u;
    let t6 = (t3 & 1048575u) | 1048576u;
    var v2: u32 = t5;
    var v3: u32 = t6;
    if ((t4 < 1i)) {
        let t7 = user_kni_soft_shift_sticky(t5, t6, 1i - t4);
        v2 = t7.x;
        v3 = t7.y;
        v1 = 1i;
    }
    let t8 = v2 & 536870911u;
    let t9 = (v2 >> 29u) | (v3 << 3u);
    var v4: u32 = t9;
    if ((268435456u < t8) || ((t8 == 268435456u) && (!((t9 & 1u) == 0u)))) {
        v4 = t9 + 1u;
    }
    return t1 | ((bitcast<u32>(select(v1 - 1i, 0i, (v4 >> 23u) == 0u)) << 23u) + v4);
}

fn user_kni_word_rem_i32(a1: i32, a2: i32) -> i32 {
    let t1 = a2 == 0i;
    let t2 = t1 || ((a2 + 1i) == 0i);
    var v1: i32;
    if (t2) {
        v1 = 0i;
    } else {
        let t3 = t1 || (a2 == (-1i));
        v1 = select(a1 % select(a2, 1i, t3), 0i, t3);
    }
    let t4 = v1;
    var v2: i32;
    if (t2) {
        v2 = 0i;
    } else {
        let t5 = t1 || (a2 == (-1i));
        v2 = select(a1 % select(a2, 1i, t5), 0i, t5);
    }
    let t6 = a1 < 0i;
    let t7 = a2 < 0i;
    return t4 + select(0i, a2, (!(v2 == 0i)) && ((t6 && (!t7)) || ((!t6) && t7)));
}

@compute @workgroup_size(width)
fn kn_numbers(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    let t1 = (item + numbers[2].z) << 1u;
    let t2 = u_x[t1];
    let t3 = u_x[t1 | 1u];
    let t4 = u_i[item + numbers[3].z];
    let t5 = item + numbers[3].x;
    let t6 = bitcast<u32>(bitcast<i32>((u_u[t5 >> 2u] >> ((t5 & 3u) * 8u)) & 255u));
    let t7 = (t4 + 2147483647i) * (-t4);
    let t8 = t4 & 7i;
    let t9 = select(0i, t7 << bitcast<u32>(t8 & 31i), (bitcast<u32>(t8) < 32u));
    let t10 = user_kni_soft_mul_f64(t2, t3, 1733216256u, 1135329645u);
    let t11 = user_kni_soft_i64_f64(t10.x, t10.y);
    let t12 = t11.x;
    let t13 = t12 + user_kni_soft_philox(bitcast<u32>(t4), bitcast<u32>(t4 >> 31u), item, 0u, 2u);
    let t14 = t13 + bitcast<u32>(t9);
    let t15 = ((((t11.y + select(0u, 1u, (t13 < t12))) + bitcast<u32>(t9 >> 31u)) + select(0u, 1u, (t14 < t13))) - 2147483648u) - select(0u, 1u, (t14 < 0u));
    let t16 = (item + numbers[4].x) << 1u;
    u_y[t16] = t14;
    u_y[t16 | 1u] = t15;
    let t17 = user_kni_soft_mul_f64(t2, t3, 3367254360u, 1086856406u);
    let t18 = item + numbers[4].z;
    let t19 = user_kni_soft_i64_f64(t17.x, t17.y);
    let t20 = (t18 & 1u) * 16u;
    let t21 = t18 >> 1u;
    let t22 = (t19.x & 65535u) << t20;
    var v1: u32 = atomicLoad(&u_h[t21]);
    let t23 = ~(65535u << t20);
    loop {
        let t24 = v1;
        var t25: u32;
        loop {
            let seen1 = atomicCompareExchangeWeak(&u_h[t21], t24, (t24 & t23) | t22);
            t25 = seen1.old_value;
            if (seen1.exchanged || seen1.old_value != t24) { break; }
        }
        if (t25 == t24) {
            break;
        }
        v1 = t25;
    }
    let t26 = bitcast<f32>(bitcast<u32>(fma(bitcast<f32>(user_kni_soft_f32_f64(t2, t3)), f32(t6), 1.0000000116860974e-7f)) ^ t6);
    u_f[item + numbers[5].x] = select(t26, sqrt(abs(t26)), t6 != 0u) / f32(bitcast<i32>(numbers[2u + ((bitcast<u32>(user_kni_word_rem_i32(t4, 3i)) + 16u) >> 2u)][(bitcast<u32>(user_kni_word_rem_i32(t4, 3i)) + 16u) & 3u]));
    let t27 = t6 | 1u;
    let t28 = t27 == 0u;
    u_w[item + numbers[5].z] = select((bitcast<u32>(t7) >> 3u) / select(t27, 1u, t28), 0u, t28);
}
