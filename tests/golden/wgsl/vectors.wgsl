@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read> u_h: array<u32>;
@group(0) @binding(2) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(3) var<storage, read_write> u_g: array<u32>;
@group(0) @binding(4) var<uniform> numbers: array<vec4<u32>, 5>;
override width: u32 = 64u;

fn user_kni_soft_upper_product(a1: u32, a2: u32) -> u32 {
    let t1 = a1 & 65535u;
    let t2 = a1 >> 16u;
    let t3 = a2 & 65535u;
    let t4 = a2 >> 16u;
    let t5 = (t2 * t3) + ((t1 * t3) >> 16u);
    return ((t2 * t4) + (t5 >> 16u)) + (((t1 * t4) + (t5 & 65535u)) >> 16u);
}

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

fn user_kni_soft_bf16_f32(a1: u32) -> u32 {
    if ((2139095040u < (a1 & 2147483647u))) {
        return (a1 >> 16u) | 64u;
    }
    return ((a1 + 32767u) + ((a1 >> 16u) & 1u)) >> 16u;
}

@compute @workgroup_size(width)
fn kn_vectors(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    let t1 = user_kni_soft_upper_product(item, 4u);
    let t2 = item * 4u;
    let t3 = numbers[4].w;
    let t4 = (bitcast<i32>(t1) < bitcast<i32>(t3)) || ((t1 == t3) && (t2 < numbers[4].z));
    let t5 = t2 + numbers[2].z;
    var v1: f32 = 1.0f;
    var v2: f32 = 1.0f;
    var v3: f32 = 1.0f;
    var v4: f32 = 1.0f;
    if (t4) {
        v1 = u_x[t5];
        v2 = u_x[t5 + 1u];
        v3 = u_x[t5 + 2u];
        v4 = u_x[t5 + 3u];
    }
    let t6 = (v1 * v1) + 0.25f;
    let t7 = (v2 * v2) + 0.25f;
    let t8 = (v3 * v3) + 0.25f;
    let t9 = (v4 * v4) + 0.25f;
    let t10 = select(t6, -t6, (v1 < 0.0f));
    let t11 = select(t7, -t7, (v2 < 0.0f));
    let t12 = select(t8, -t8, (v3 < 0.0f));
    let t13 = select(t9, -t9, (v4 < 0.0f));
    let t14 = t2 + numbers[3].z;
    if (t4) {
        u_y[t14] = t10;
        u_y[t14 + 1u] = t11;
        u_y[t14 + 2u] = t12;
        u_y[t14 + 3u] = t13;
    }
    let t15 = item * 8u;
    let t16 = (t15 + numbers[3].x) >> 1u;
    let t17 = u_h[t16];
    let t18 = bitcast<f32>(user_kni_soft_f32_f16(t17 & 65535u));
    let t19 = bitcast<f32>(user_kni_soft_f32_f16((t17 >> 16u) & 65535u));
    let t20 = u_h[t16 + 1u];
    let t21 = bitcast<f32>(user_kni_soft_f32_f16(t20 & 65535u));
    let t22 = bitcast<f32>(user_kni_soft_f32_f16((t20 >> 16u) & 65535u));
    let t23 = u_h[t16 + 2u];
    let t24 = bitcast<f32>(user_kni_soft_f32_f16(t23 & 65535u));
    let t25 = bitcast<f32>(user_kni_soft_f32_f16((t23 >> 16u) & 65535u));
    let t26 = u_h[t16 + 3u];
    let t27 = bitcast<f32>(user_kni_soft_f32_f16(t26 & 65535u));
    let t28 = bitcast<f32>(user_kni_soft_f32_f16((t26 >> 16u) & 65535u));
    let t29 = (t15 + numbers[4].x) >> 1u;
    u_g[t29] = user_kni_soft_bf16_f32(bitcast<u32>(t18 * t28)) | (user_kni_soft_bf16_f32(bitcast<u32>(t19 * t27)) << 16u);
    u_g[t29 + 1u] = user_kni_soft_bf16_f32(bitcast<u32>(t21 * t25)) | (user_kni_soft_bf16_f32(bitcast<u32>(t22 * t24)) << 16u);
    u_g[t29 + 2u] = user_kni_soft_bf16_f32(bitcast<u32>(t24 * t22)) | (user_kni_soft_bf16_f32(bitcast<u32>(t25 * t21)) << 16u);
    u_g[t29 + 3u] = user_kni_soft_bf16_f32(bitcast<u32>(t27 * t19)) | (user_kni_soft_bf16_f32(bitcast<u32>(t28 * t18)) << 16u);
}
