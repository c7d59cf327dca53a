@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: array<vec4<u32>, 3>;
var<workgroup> u_shared: array<f32, 16>;

fn keep(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ numbers[0].w);
}

@compute @workgroup_size(16)
fn kn_barriers(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let group = workgroup.x + numbers[0].x;
    let member = local.x;
    var u_own: array<f32, 3>;
    let t1 = bitcast<i32>(member);
    let t2 = numbers[2].y;
    if ((bitcast<i32>(t2) < 0i) || ((t2 == 0u) && (numbers[2].x <= group))) {
        return;
    }
    let t3 = bitcast<u32>(t1);
    let t4 = (group * 16u) + t3;
    let t5 = u_x[t4];
    var v1: f32 = t5;
    for (var i1 = 0i; i1 < 3i; i1 += 1i) {
        u_own[bitcast<u32>(i1)] = t5 * f32(i1);
    }
    var v2: u32 = 0u;
    var v3: u32 = 0u;
    let t6 = bitcast<u32>(t1 ^ 5i);
    let t7 = group + 2u;
    let t8 = select(0u, 1u, (t7 < group));
    loop {
        if (!((bitcast<i32>(v3) < 0i) || ((v3 == 0u) && (v2 < 6u)))) { break; }
        let t9 = v2;
        let t10 = v3;
        if ((t9 == 1u) && (t10 == 0u)) {
            continue;
        }
        let t11 = v1;
        u_shared[t3] = t11;
        workgroupBarrier();
        storageBarrier();
        v1 = (u_shared[t6] * 0.5f) + t11;
        workgroupBarrier();
        storageBarrier();
        if ((t9 == t7) && (t10 == t8)) {
            break;
        }
        continuing {
            let t12 = v2;
            let t13 = v3;
            let t14 = t12 + 1u;
            v2 = t14;
            v3 = t13 + select(0u, 1u, (t14 < t12));
        }
    }
    var v4: f32 = v1;
    let t15 = t1 < 15i;
    for (var i2 = 0i; i2 < 3i; i2 += 1i) {
        u_shared[t3] = u_own[bitcast<u32>(i2)];
        workgroupBarrier();
        storageBarrier();
        if (t15) {
            v4 = keep(v4 + u_shared[bitcast<u32>(t1 + 1i)]);
        }
        workgroupBarrier();
        storageBarrier();
    }
    if (t1 == 3i) {
        return;
    }
    u_y[t4] = v4;
}
