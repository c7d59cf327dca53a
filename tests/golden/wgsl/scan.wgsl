@group(0) @binding(0) var<storage, read> u_x: array<f32>;
@group(0) @binding(1) var<storage, read_write> u_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> u_z: array<u32>;
@group(0) @binding(3) var<uniform> numbers: array<vec4<u32>, 2>;
var<workgroup> u_scratch_f32: array<f32, 48>;
var<workgroup> u_scratch_other_f32: array<f32, 48>;
var<workgroup> u_scratch_i64: array<u32, 96>;
var<workgroup> u_scratch_other_i64: array<u32, 96>;

fn keep(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ numbers[0].w);
}

fn user_kni_soft_i64_f32(a1: u32) -> vec2<u32> {
    let t1 = a1 & 2147483647u;
    let t2 = bitcast<i32>(t1 >> 23u) - 127i;
    let t3 = (t1 & 8388607u) | 8388608u;
    if ((2139095040u < t1) || (t2 < 0i)) {
        return vec2<u32>(0u, 0u);
    }
    if ((62i < t2)) {
        let t4 = !((a1 >> 31u) == 0u);
        return vec2<u32>(select(4294967295u, 0u, t4), select(2147483647u, 2147483648u, t4));
    }
    let t5 = t2 < 23i;
    let t6 = 23i - t2;
    let t7 = bitcast<u32>(t6);
    let t8 = t7 & 31u;
    let t9 = 0u >> t8;
    let t10 = t7 >= 32u;
    let t11 = (t7 < 64u) && (bitcast<u32>(t6 >> 31u) == 0u);
    let t12 = t2 - 23i;
    let t13 = bitcast<u32>(t12);
    let t14 = t13 & 31u;
    let t15 = t3 << t14;
    let t16 = t13 >= 32u;
    let t17 = (t13 < 64u) && (bitcast<u32>(t12 >> 31u) == 0u);
    let t18 = select(select(0u, select(t15, 0u, t16), t17), select(0u, select((t3 >> t8) | (0u << (31u - t8)), t9, t10), t11), t5);
    let t19 = select(select(0u, select((0u << t14) | ((t3 >> 1u) >> (31u - t14)), t15, t16), t17), select(0u, select(t9, 0u, t10), t11), t5);
    let t20 = !((a1 >> 31u) == 0u);
    let t21 = vec2<u32>(select(t18, 0u - t18, t20), select(t19, (0u - t19) - select(0u, 1u, (0u < t18)), t20));
    return t21;
}

fn user_kni_soft_upper_product(a1: u32, a2: u32) -> u32 {
    let t1 = a1 & 65535u;
    let t2 = a1 >> 16u;
    let t3 = a2 & 65535u;
    let t4 = a2 >> 16u;
    let t5 = (t2 * t3) + ((t1 * t3) >> 16u);
    return ((t2 * t4) + (t5 >> 16u)) + (((t1 * t4) + (t5 & 65535u)) >> 16u);
}

@compute @workgroup_size(48)
fn kn_scan(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let group = workgroup.x + numbers[0].x;
    let member = local.x;
    let t1 = bitcast<i32>(member);
    let t2 = bitcast<u32>(t1);
    let t3 = (group * 48u) + t2;
    let t4 = u_x[t3];
    u_scratch_f32[t2] = t4;
    workgroupBarrier();
    storageBarrier();
    let t5 = 1i <= t1;
    let t6 = bitcast<u32>(t1 - 1i);
    var v1: f32 = t4;
    if (t5) {
        v1 = u_scratch_f32[t6];
    }
    let t7 = select(t4, keep(v1 + t4), t5);
    u_scratch_other_f32[t2] = t7;
    workgroupBarrier();
    storageBarrier();
    let t8 = 2i <= t1;
    let t9 = bitcast<u32>(t1 - 2i);
    var v2: f32 = t7;
    if (t8) {
        v2 = u_scratch_other_f32[t9];
    }
    let t10 = select(t7, keep(v2 + t7), t8);
    u_scratch_f32[t2] = t10;
    workgroupBarrier();
    storageBarrier();
    let t11 = 4i <= t1;
    let t12 = bitcast<u32>(t1 - 4i);
    var v3: f32 = t10;
    if (t11) {
        v3 = u_scratch_f32[t12];
    }
    let t13 = select(t10, keep(v3 + t10), t11);
    u_scratch_other_f32[t2] = t13;
    workgroupBarrier();
    storageBarrier();
    let t14 = 8i <= t1;
    let t15 = bitcast<u32>(t1 - 8i);
    var v4: f32 = t13;
    if (t14) {
        v4 = u_scratch_other_f32[t15];
    }
    let t16 = select(t13, keep(v4 + t13), t14);
    u_scratch_f32[t2] = t16;
    workgroupBarrier();
    storageBarrier();
    let t17 = 16i <= t1;
    let t18 = bitcast<u32>(t1 - 16i);
    var v5: f32 = t16;
    if (t17) {
        v5 = u_scratch_f32[t18];
    }
    let t19 = select(t16, keep(v5 + t16), t17);
    u_scratch_other_f32[t2] = t19;
    workgroupBarrier();
    storageBarrier();
    let t20 = 32i <= t1;
    let t21 = bitcast<u32>(t1 - 32i);
    var v6: f32 = t19;
    if (t20) {
        v6 = u_scratch_other_f32[t21];
    }
    let t22 = select(t19, keep(v6 + t19), t20);
    u_scratch_f32[t2] = t22;
    workgroupBarrier();
    storageBarrier();
    u_y[t3] = t22;
    let t23 = user_kni_soft_i64_f32(bitcast<u32>(t4));
    let t24 = t23.x;
    let t25 = t23.y;
    let t26 = t2 << 1u;
    u_scratch_i64[t26] = t24;
    let t27 = t26 | 1u;
    u_scratch_i64[t27] = t25;
    workgroupBarrier();
    storageBarrier();
    var v7: u32 = t24;
    var v8: u32 = t25;
    if (t5) {
        let t28 = t6 << 1u;
        let t29 = u_scratch_i64[t28 | 1u];
        v7 = u_scratch_i64[t28];
        v8 = t29;
    }
    let t30 = select(t24, v7 * t24, t5);
    let t31 = select(t25, user_kni_soft_upper_product(v7, t24) + ((v7 * t25) + (v8 * t24)), t5);
    u_scratch_other_i64[t26] = t30;
    u_scratch_other_i64[t27] = t31;
    workgroupBarrier();
    storageBarrier();
    var v9: u32 = t30;
    var v10: u32 = t31;
    if (t8) {
        let t32 = t9 << 1u;
        let t33 = u_scratch_other_i64[t32 | 1u];
        v9 = u_scratch_other_i64[t32];
        v10 = t33;
    }
    let t34 = select(t30, v9 * t30, t8);
    let t35 = select(t31, user_kni_soft_upper_product(v9, t30) + ((v9 * t31) + (v10 * t30)), t8);
    u_scratch_i64[t26] = t34;
    u_scratch_i64[t27] = t35;
    workgroupBarrier();
    storageBarrier();
    var v11: u32 = t34;
    var v12: u32 = t35;
    if (t11) {
        let t36 = t12 << 1u;
        let t37 = u_scratch_i64[t36 | 1u];
        v11 = u_scratch_i64[t36];
        v12 = t37;
    }
    let t38 = select(t34, v11 * t34, t11);
    let t39 = select(t35, user_kni_soft_upper_product(v11, t34) + ((v11 * t35) + (v12 * t34)), t11);
    u_scratch_other_i64[t26] = t38;
    u_scratch_other_i64[t27] = t39;
    workgroupBarrier();
    storageBarrier();
    var v13: u32 = t38;
    var v14: u32 = t39;
    if (t14) {
        let t40 = t15 << 1u;
        let t41 = u_scratch_other_i64[t40 | 1u];
        v13 = u_scratch_other_i64[t40];
        v14 = t41;
    }
    let t42 = select(t38, v13 * t38, t14);
    let t43 = select(t39, user_kni_soft_upper_product(v13, t38) + ((v13 * t39) + (v14 * t38)), t14);
    u_scratch_i64[t26] = t42;
    u_scratch_i64[t27] = t43;
    workgroupBarrier();
    storageBarrier();
    var v15: u32 = t42;
    var v16: u32 = t43;
    if (t17) {
        let t44 = t18 << 1u;
        let t45 = u_scratch_i64[t44 | 1u];
        v15 = u_scratch_i64[t44];
        v16 = t45;
    }
    let t46 = select(t42, v15 * t42, t17);
    let t47 = select(t43, user_kni_soft_upper_product(v15, t42) + ((v15 * t43) + (v16 * t42)), t17);
    u_scratch_other_i64[t26] = t46;
    u_scratch_other_i64[t27] = t47;
    workgroupBarrier();
    storageBarrier();
    var v17: u32 = t46;
    var v18: u32 = t47;
    if (t20) {
        let t48 = t21 << 1u;
        let t49 = u_scratch_other_i64[t48 | 1u];
        v17 = u_scratch_other_i64[t48];
        v18 = t49;
    }
    let t50 = select(t46, v17 * t46, t20);
    let t51 = select(t47, user_kni_soft_upper_product(v17, t46) + ((v17 * t47) + (v18 * t46)), t20);
    u_scratch_i64[t26] = t50;
    u_scratch_i64[t27] = t51;
    workgroupBarrier();
    storageBarrier();
    let t52 = t3 << 1u;
    u_z[t52] = t50;
    u_z[t52 | 1u] = t51;
}
