@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: array<vec4<u32>, 2>;

fn keep(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ numbers[0].w);
}

@compute @workgroup_size(64)
fn kn_subgroups(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let group = workgroup.x + numbers[0].x;
    let groups = numbers[1].x;
    let group1 = workgroup.y + numbers[0].y;
    let member = local.x;
    let t1 = (((group1 * groups) + group) * 64u) + bitcast<u32>(bitcast<i32>(member));
    let t2 = u_x[t1];
    u_y[t1] = keep(t2 - t2) + (t2 * 0.0f);
}
