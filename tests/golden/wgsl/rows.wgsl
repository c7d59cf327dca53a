@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: array<vec4<u32>, 3>;
var<workgroup> u_scratch_f32: array<f32, 64>;

fn keep(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ numbers[0].w);
}

@compute @workgroup_size(64)
fn kn_rows(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let group = workgroup.x + numbers[0].x;
    let member = local.x;
    let t1 = numbers[2].x;
    let t2 = numbers[2].y;
    let t3 = bitcast<i32>(member);
    let t4 = bitcast<u32>(t3 >> 31u);
    let t5 = bitcast<u32>(t3);
    let t6 = group * t1;
    var v1: f32 = bitcast<f32>(4286578688u ^ numbers[0].w);
    var v2: f32 = 0.0f;
    var v3: u32 = t5;
    var v4: u32 = t4;
    let t7 = bitcast<i32>(t2);
    loop {
        if (!((bitcast<i32>(v4) < t7) || ((v4 == t2) && (v3 < t1)))) { break; }
        let t8 = u_x[t6 + v3];
        let t9 = select(select(select(t8, v1, v1 > t8), t8, (bitcast<u32>(t8) & 2147483647u) > 2139095040u), v1, (bitcast<u32>(v1) & 2147483647u) > 2139095040u);
        v1 = t9;
        v2 = keep(v2 + t8);
        continuing {
            let t10 = v3;
            let t11 = v4;
            let t12 = t10 + 64u;
            v3 = t12;
            v4 = t11 + select(0u, 1u, (t12 < t10));
        }
    }
    u_scratch_f32[t5] = v1;
    workgroupBarrier();
    storageBarrier();
    let t13 = t3 & 31i;
    let t14 = t13 < 16i;
    if (t14) {
        let t15 = u_scratch_f32[t5];
        let t16 = u_scratch_f32[bitcast<u32>(t3 + 16i)];
        u_scratch_f32[t5] = select(select(select(t16, t15, t15 > t16), t16, (bitcast<u32>(t16) & 2147483647u) > 2139095040u), t15, (bitcast<u32>(t15) & 2147483647u) > 2139095040u);
    }
    workgroupBarrier();
    storageBarrier();
    let t17 = t13 < 8i;
    if (t17) {
        let t18 = u_scratch_f32[t5];
        let t19 = u_scratch_f32[bitcast<u32>(t3 + 8i)];
        u_scratch_f32[t5] = select(select(select(t19, t18, t18 > t19), t19, (bitcast<u32>(t19) & 2147483647u) > 2139095040u), t18, (bitcast<u32>(t18) & 2147483647u) > 2139095040u);
    }
    workgroupBarrier();
    storageBarrier();
    let t20 = t13 < 4i;
    if (t20) {
        let t21 = u_scratch_f32[t5];
        let t22 = u_scratch_f32[bitcast<u32>(t3 + 4i)];
        u_scratch_f32[t5] = select(select(select(t22, t21, t21 > t22), t22, (bitcast<u32>(t22) & 2147483647u) > 2139095040u), t21, (bitcast<u32>(t21) & 2147483647u) > 2139095040u);
    }
    workgroupBarrier();
    storageBarrier();
    let t23 = t13 < 2i;
    if (t23) {
        let t24 = u_scratch_f32[t5];
        let t25 = u_scratch_f32[bitcast<u32>(t3 + 2i)];
        u_scratch_f32[t5] = select(select(select(t25, t24, t24 > t25), t25, (bitcast<u32>(t25) & 2147483647u) > 2139095040u), t24, (bitcast<u32>(t24) & 2147483647u) > 2139095040u);
    }
    workgroupBarrier();
    storageBarrier();
    let t26 = t13 < 1i;
    if (t26) {
        let t27 = u_scratch_f32[t5];
        let t28 = u_scratch_f32[bitcast<u32>(t3 + 1i)];
        u_scratch_f32[t5] = select(select(select(t28, t27, t27 > t28), t28, (bitcast<u32>(t28) & 2147483647u) > 2139095040u), t27, (bitcast<u32>(t27) & 2147483647u) > 2139095040u);
    }
    workgroupBarrier();
    storageBarrier();
    let t29 = t3 < 1i;
    if (t29) {
        let t30 = t3 * 32i;
        let t31 = bitcast<u32>(t30);
        let t32 = u_scratch_f32[t31];
        let t33 = u_scratch_f32[bitcast<u32>(t30 + 32i)];
        u_scratch_f32[t31] = select(select(select(t33, t32, t32 > t33), t33, (bitcast<u32>(t33) & 2147483647u) > 2139095040u), t32, (bitcast<u32>(t32) & 2147483647u) > 2139095040u);
    }
    workgroupBarrier();
    storageBarrier();
    let t34 = u_scratch_f32[0u];
    workgroupBarrier();
    storageBarrier();
    u_scratch_f32[t5] = v2;
    workgroupBarrier();
    storageBarrier();
    if (t14) {
        u_scratch_f32[t5] = keep(u_scratch_f32[t5] + u_scratch_f32[bitcast<u32>(t3 + 16i)]);
    }
    workgroupBarrier();
    storageBarrier();
    if (t17) {
        u_scratch_f32[t5] = keep(u_scratch_f32[t5] + u_scratch_f32[bitcast<u32>(t3 + 8i)]);
    }
    workgroupBarrier();
    storageBarrier();
    if (t20) {
        u_scratch_f32[t5] = keep(u_scratch_f32[t5] + u_scratch_f32[bitcast<u32>(t3 + 4i)]);
    }
    workgroupBarrier();
    storageBarrier();
    if (t23) {
        u_scratch_f32[t5] = keep(u_scratch_f32[t5] + u_scratch_f32[bitcast<u32>(t3 + 2i)]);
    }
    workgroupBarrier();
    storageBarrier();
    if (t26) {
        u_scratch_f32[t5] = keep(u_scratch_f32[t5] + u_scratch_f32[bitcast<u32>(t3 + 1i)]);
    }
    workgroupBarrier();
    storageBarrier();
    if (t29) {
        let t35 = t3 * 32i;
        let t36 = bitcast<u32>(t35);
        u_scratch_f32[t36] = keep(u_scratch_f32[t36] + u_scratch_f32[bitcast<u32>(t35 + 32i)]);
    }
    workgroupBarrier();
    storageBarrier();
    let t37 = u_scratch_f32[0u];
    workgroupBarrier();
    storageBarrier();
    var v5: u32 = t5;
    var v6: u32 = t4;
    loop {
        if (!((bitcast<i32>(v6) < t7) || ((v6 == t2) && (v5 < t1)))) { break; }
        let t38 = t6 + v5;
        u_y[t38] = keep(u_x[t38] - t34) / t37;
        continuing {
            let t39 = v5;
            let t40 = v6;
            let t41 = t39 + 64u;
            v5 = t41;
            v6 = t40 + select(0u, 1u, (t41 < t39));
        }
    }
}
