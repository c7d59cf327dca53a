@group(0) @binding(0) var<storage, read> u_kernel: array<u32>;
@group(0) @binding(1) var<storage, read> u_float4: array<f32>;
@group(0) @binding(2) var<storage, read_write> u_t1: array<f32>;
@group(0) @binding(3) var<storage, read_write> u_fault: array<u32>;
@group(0) @binding(4) var<uniform> numbers: array<vec4<u32>, 5>;
override width: u32 = 64u;

@compute @workgroup_size(width)
fn kn_faults(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    let t1 = (item + numbers[2].z) << 1u;
    let t2 = u_kernel[t1];
    let t3 = u_kernel[t1 | 1u];
    let t4 = numbers[4].y;
    let t5 = bitcast<i32>(t3);
    let t6 = ((0i < t5) || ((t3 == 0u) && (0u <= t2))) && ((t5 < bitcast<i32>(t4)) || ((t3 == t4) && (t2 < numbers[4].x)));
    if (t6) {
        u_t1[item + numbers[3].z] = u_float4[t2 + numbers[3].x];
    } else {
        if (u_fault[0u] == 0u) {
            u_fault[2u] = t2;
            u_fault[3u] = t3;
            u_fault[0u] = 1u;
        }
    }
}
