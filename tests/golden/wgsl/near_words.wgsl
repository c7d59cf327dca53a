@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: array<vec4<u32>, 4>;
override width: u32 = 64u;

fn keep(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ numbers[0].w);
}

fn user_kni_horner4_f32(a1: f32, a2: f32, a3: f32, a4: f32, a5: f32, a6: f32) -> f32 {
    return keep(keep(keep(keep(keep(keep(keep(keep(a1 * a2) + a3) * a2) + a4) * a2) + a5) * a2) + a6);
}

fn user_kni_exp_kernel_f32(a1: f32) -> f32 {
    let t1 = keep(1.0f + a1);
    return keep(t1 + keep(keep(keep(1.0f - t1) + a1) + keep(keep(a1 * a1) * user_kni_horner4_f32(0.001395056489855051f, a1, 0.008368986658751965f, 0.04166620597243309f, 0.166665181517601f, 0.5f))));
}

fn user_kni_scale_f32(a1: f32, a2: f32) -> f32 {
    let t1 = keep(keep(a2 * 0.5f) + 12583039.0f);
    return keep(keep(a1 * bitcast<f32>(bitcast<u32>(t1) << 23u)) * bitcast<f32>(bitcast<u32>(keep(keep(a2 - keep(t1 - 12583039.0f)) + 12583039.0f)) << 23u));
}

fn user_kni_exp2_f32(a1: f32) -> f32 {
    let t1 = select(a1, (-160.0f), (a1 < (-160.0f)));
    let t2 = select(t1, 130.0f, t1 > 130.0f);
    let t3 = keep(keep(t2 + 12582912.0f) - 12582912.0f);
    return user_kni_scale_f32(user_kni_exp_kernel_f32(keep(keep(t2 - t3) * 0.6931471824645996f)), t3);
}

fn user_kni_word_exp2_f32(a1: f32) -> f32 {
    return user_kni_exp2_f32(a1);
}

@compute @workgroup_size(width)
fn kn_near_words(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    u_y[item + numbers[3].x] = 1.0f / keep(1.0f + user_kni_word_exp2_f32(u_x[item + numbers[2].z]));
}
