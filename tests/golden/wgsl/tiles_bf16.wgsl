@group(0) @binding(0) var<storage, read> u_x: array<u32>;
@group(0) @binding(1) var<storage, read> u_y: array<u32>;
@group(0) @binding(2) var<storage, read_write> u_z: array<f32>;
@group(0) @binding(3) var<uniform> numbers: array<vec4<u32>, 3>;

fn user_kni_soft_divide_u64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    var v1: u32 = a1;
    var v2: u32 = a2;
    if ((a2 | a4) == 0u) {
        let t1 = a3 == 0u;
        var v3: u32;
        if (t1) {
            v3 = 0u;
        } else {
            v3 = select(a1 / select(a3, 1u, t1), 0u, t1);
        }
        return vec2<u32>(v3, 0u);
    }
    if ((a3 == 0u) && (a4 == 0u)) {
        return vec2<u32>(0u, 0u);
    }
    var v4: u32 = 0u;
    var v5: u32 = 0u;
    var v6: u32 = 0u;
    var v7: u32 = 0u;
    var v8: i32 = 0i;
    loop {
        if (!(v8 < 64i)) { break; }
        let t2 = v7;
        let t3 = (t2 << 1u) | (v6 >> 31u);
        let t4 = v1;
        let t5 = v2;
        let t6 = (v6 << 1u) | (t5 >> 31u);
        v6 = t6;
        v7 = t3;
        v1 = t4 << 1u;
        v2 = (t5 << 1u) | (t4 >> 31u);
        let t7 = v4 << 1u;
        let t8 = (v5 << 1u) | (v4 >> 31u);
        v4 = t7;
        v5 = t8;
        if ((!((t2 >> 31u) == 0u)) || ((a4 < t3) || ((a4 == t3) && (a3 <= t6)))) {
            v6 = t6 - a3;
            v7 = (t3 - a4) - select(0u, 1u, (t6 < a3));
            v4 = t7 | 1u;
            v5 = t8;
        }
        continuing {
            v8 = v8 + 1i;
        }
    }
    return vec2<u32>(v4, v5);
}

fn user_kni_soft_divide_i64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    let t1 = (bitcast<i32>(a2) < 0i) || ((a2 == 0u) && (a1 < 0u));
    let t2 = (bitcast<i32>(a4) < 0i) || ((a4 == 0u) && (a3 < 0u));
    let t3 = user_kni_soft_divide_u64(select(a1, 0u - a1, t1), select(a2, (0u - a2) - select(0u, 1u, (0u < a1)), t1), select(a3, 0u - a3, t2), select(a4, (0u - a4) - select(0u, 1u, (0u < a3)), t2));
    let t4 = t3.x;
    let t5 = t3.y;
    let t6 = (t1 && (!t2)) || ((!t1) && t2);
    let t7 = vec2<u32>(select(t4, 0u - t4, t6), select(t5, (0u - t5) - select(0u, 1u, (0u < t4)), t6));
    return t7;
}

fn user_kni_soft_upper_product(a1: u32, a2: u32) -> u32 {
    let t1 = a1 & 65535u;
    let t2 = a1 >> 16u;
    let t3 = a2 & 65535u;
    let t4 = a2 >> 16u;
    let t5 = (t2 * t3) + ((t1 * t3) >> 16u);
    return ((t2 * t4) + (t5 >> 16u)) + (((t1 * t4) + (t5 & 65535u)) >> 16u);
}

fn user_kni_soft_rest_u64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    if ((a2 | a4) == 0u) {
        let t1 = a3 == 0u;
        var v1: u32;
        if (t1) {
            v1 = 0u;
        } else {
            v1 = select(a1 % select(a3, 1u, t1), 0u, t1);
        }
        return vec2<u32>(v1, 0u);
    }
    var v2: u32;
    var v3: u32;
    if ((a3 == 0u) && (a4 == 0u)) {
        v2 = 0u;
        v3 = 0u;
    } else {
        let t2 = user_kni_soft_divide_u64(a1, a2, a3, a4);
        let t3 = t2.x;
        let t4 = t3 * a3;
        v2 = a1 - t4;
        v3 = (a2 - (user_kni_soft_upper_product(t3, a3) + ((t3 * a4) + (t2.y * a3)))) - select(0u, 1u, (a1 < t4));
    }
    return vec2<u32>(v2, v3);
}

fn user_kni_soft_rest_i64(a1: u32, a2: u32, a3: u32, a4: u32) -> vec2<u32> {
    let t1 = (bitcast<i32>(a2) < 0i) || ((a2 == 0u) && (a1 < 0u));
    let t2 = (bitcast<i32>(a4) < 0i) || ((a4 == 0u) && (a3 < 0u));
    let t3 = user_kni_soft_rest_u64(select(a1, 0u - a1, t1), select(a2, (0u - a2) - select(0u, 1u, (0u < a1)), t1), select(a3, 0u - a3, t2), select(a4, (0u - a4) - select(0u, 1u, (0u < a3)), t2));
    let t4 = t3.x;
    let t5 = t3.y;
    let t6 = vec2<u32>(select(t4, 0u - t4, t1), select(t5, (0u - t5) - select(0u, 1u, (0u < t4)), t1));
    return t6;
}

@compute @workgroup_size(32)
fn kn_tiles_bf16(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let group = workgroup.x + numbers[0].x;
    let member = local.x;
    var u_tile_f32: array<f32, 256>;
    var u_tile_f32_1: array<f32, 256>;
    var u_tile_f32_2: array<f32, 256>;
    let t1 = numbers[2].x;
    let t2 = numbers[2].y;
    if (bitcast<i32>(member) == 0i) {
        var v1: u32 = 0u;
        var v2: u32 = 0u;
        loop {
            if (!((bitcast<i32>(v2) < 0i) || ((v2 == 0u) && (v1 < 256u)))) { break; }
            u_tile_f32_2[v1] = 1.0f;
            continuing {
                let t3 = v1;
                let t4 = v2;
                let t5 = t3 + 1u;
                v1 = t5;
                v2 = t4 + select(0u, 1u, (t5 < t3));
            }
        }
        let t6 = (group * 16u) * t1;
        var v3: u32 = 0u;
        var v4: u32 = 0u;
        let t7 = bitcast<i32>(t2);
        loop {
            if (!((bitcast<i32>(v4) < t7) || ((v4 == t2) && (v3 < t1)))) { break; }
            let t8 = v3;
            let t9 = t6 + t8;
            let t10 = user_kni_soft_divide_i64(0u, 0u, 1u, 0u);
            let t11 = t10.x * 16u;
            let t12 = user_kni_soft_rest_i64(0u, 0u, 1u, 0u);
            let t13 = t12.x * 16u;
            var v5: u32 = 0u;
            var v6: u32 = 0u;
            loop {
                if (!((bitcast<i32>(v6) < 0i) || ((v6 == 0u) && (v5 < 16u)))) { break; }
                var v7: u32 = 0u;
                var v8: u32 = 0u;
                let t14 = t9 + ((t11 + v5) * t1);
                let t15 = v5 * 16u;
                loop {
                    if (!((bitcast<i32>(v8) < 0i) || ((v8 == 0u) && (v7 < 16u)))) { break; }
                    let t16 = t14 + v7;
                    u_tile_f32[t15 + v7] = bitcast<f32>(((u_x[t16 >> 1u] >> ((t16 & 1u) * 16u)) & 65535u) << 16u);
                    continuing {
                        let t17 = v7;
                        let t18 = v8;
                        let t19 = t17 + 1u;
                        v7 = t19;
                        v8 = t18 + select(0u, 1u, (t19 < t17));
                    }
                }
                continuing {
                    let t20 = v5;
                    let t21 = v6;
                    let t22 = t20 + 1u;
                    v5 = t22;
                    v6 = t21 + select(0u, 1u, (t22 < t20));
                }
            }
            let t23 = t8 * 16u;
            var v9: u32 = 0u;
            var v10: u32 = 0u;
            loop {
                if (!((bitcast<i32>(v10) < 0i) || ((v10 == 0u) && (v9 < 16u)))) { break; }
                var v11: u32 = 0u;
                var v12: u32 = 0u;
                let t24 = v9 * 16u;
                let t25 = t23 + t24;
                loop {
                    if (!((bitcast<i32>(v12) < 0i) || ((v12 == 0u) && (v11 < 16u)))) { break; }
                    let t26 = t25 + (t13 + v11);
                    u_tile_f32_1[t24 + v11] = bitcast<f32>(((u_y[t26 >> 1u] >> ((t26 & 1u) * 16u)) & 65535u) << 16u);
                    continuing {
                        let t27 = v11;
                        let t28 = v12;
                        let t29 = t27 + 1u;
                        v11 = t29;
                        v12 = t28 + select(0u, 1u, (t29 < t27));
                    }
                }
                continuing {
                    let t30 = v9;
                    let t31 = v10;
                    let t32 = t30 + 1u;
                    v9 = t32;
                    v10 = t31 + select(0u, 1u, (t32 < t30));
                }
            }
            var v13: u32 = 0u;
            var v14: u32 = 0u;
            loop {
                if (!((bitcast<i32>(v14) < 0i) || ((v14 == 0u) && (v13 < 16u)))) { break; }
                var v15: u32 = 0u;
                var v16: u32 = 0u;
                let t33 = v13 * 16u;
                loop {
                    if (!((bitcast<i32>(v16) < 0i) || ((v16 == 0u) && (v15 < 16u)))) { break; }
                    let t34 = v15;
                    let t35 = t33 + t34;
                    var v17: f32 = u_tile_f32_2[t35];
                    var v18: u32 = 0u;
                    var v19: u32 = 0u;
                    loop {
                        if (!((bitcast<i32>(v19) < 0i) || ((v19 == 0u) && (v18 < 16u)))) { break; }
                        v17 = v17 + (u_tile_f32[t33 + v18] * u_tile_f32_1[(v18 * 16u) + t34]);
                        continuing {
                            let t36 = v18;
                            let t37 = v19;
                            let t38 = t36 + 1u;
                            v18 = t38;
                            v19 = t37 + select(0u, 1u, (t38 < t36));
                        }
                    }
                    u_tile_f32_2[t35] = v17;
                    continuing {
                        let t39 = v15;
                        let t40 = v16;
                        let t41 = t39 + 1u;
                        v15 = t41;
                        v16 = t40 + select(0u, 1u, (t41 < t39));
                    }
                }
                continuing {
                    let t42 = v13;
                    let t43 = v14;
                    let t44 = t42 + 1u;
                    v13 = t44;
                    v14 = t43 + select(0u, 1u, (t44 < t42));
                }
            }
            continuing {
                let t45 = v3;
                let t46 = v4;
                let t47 = t45 + 16u;
                v3 = t47;
                v4 = t46 + select(0u, 1u, (t47 < t45));
            }
        }
        let t48 = group * 256u;
        let t49 = user_kni_soft_divide_i64(0u, 0u, 1u, 0u);
        let t50 = t49.x * 16u;
        let t51 = user_kni_soft_rest_i64(0u, 0u, 1u, 0u);
        let t52 = t51.x * 16u;
        var v20: u32 = 0u;
        var v21: u32 = 0u;
        loop {
            if (!((bitcast<i32>(v21) < 0i) || ((v21 == 0u) && (v20 < 16u)))) { break; }
            var v22: u32 = 0u;
            var v23: u32 = 0u;
            let t53 = t48 + ((t50 + v20) * 16u);
            let t54 = v20 * 16u;
            loop {
                if (!((bitcast<i32>(v23) < 0i) || ((v23 == 0u) && (v22 < 16u)))) { break; }
                u_z[t53 + (t52 + v22)] = u_tile_f32_2[t54 + v22];
                continuing {
                    let t55 = v22;
                    let t56 = v23;
                    let t57 = t55 + 1u;
                    v22 = t57;
                    v23 = t56 + select(0u, 1u, (t57 < t55));
                }
            }
            continuing {
                let t58 = v20;
                let t59 = v21;
                let t60 = t58 + 1u;
                v20 = t60;
                v21 = t59 + select(0u, 1u, (t60 < t58));
            }
        }
    }
}
