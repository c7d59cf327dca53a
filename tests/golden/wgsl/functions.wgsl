@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: array<vec4<u32>, 4>;
override width: u32 = 64u;

fn keep(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ numbers[0].w);
}

fn user_polynomial(a1: f32, a2: i32) -> f32 {
    var u_powers: array<f32, 4>;
    u_powers[0u] = 1.0f;
    for (var i1 = 1i; i1 < 4i; i1 += 1i) {
        u_powers[bitcast<u32>(i1)] = keep(u_powers[bitcast<u32>(i1 - 1i)] * a1);
    }
    var v1: f32 = 0.0f;
    for (var i2 = 0i; i2 < a2; i2 += 1i) {
        v1 = keep(v1 + u_powers[bitcast<u32>(i2)]);
    }
    return v1;
}

fn user_clipped(a1: f32) -> f32 {
    if (a1 > 1.5f) {
        return 1.5f;
    }
    return user_polynomial(a1, 4i);
}

@compute @workgroup_size(width)
fn kn_functions(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    let t1 = u_x[item + numbers[2].z];
    u_y[item + numbers[3].x] = keep(user_clipped(t1) - user_polynomial(t1, 2i));
}
