@group(0) @binding(0) var<storage, read> u_x: array<i32>;
@group(0) @binding(1) var<storage, read_write> u_y: array<u32>;
@group(0) @binding(2) var<uniform> numbers: array<vec4<u32>, 4>;
override width: u32 = 64u;

fn user_kni_soft_upper_product(a1: u32, a2: u32) -> u32 {
    let t1 = a1 & 65535u;
    let t2 = a1 >> 16u;
    let t3 = a2 & 65535u;
    let t4 = a2 >> 16u;
    let t5 = (t2 * t3) + ((t1 * t3) >> 16u);
    return ((t2 * t4) + (t5 >> 16u)) + (((t1 * t4) + (t5 & 65535u)) >> 16u);
}

@compute @workgroup_size(width)
fn kn_loops(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let item = (workgroup.x + numbers[0].x) * width + local.x;
    if (item >= numbers[2].x) {
        return;
    }
    let t1 = u_x[item + numbers[2].z];
    var v1: u32 = 0u;
    var v2: u32 = 0u;
    var v3: u32 = 0u;
    var v4: u32 = 0u;
    loop {
        if (!((bitcast<i32>(v2) < 0i) || ((v2 == 0u) && (v1 < 20u)))) { break; }
        let t2 = v1;
        let t3 = v2;
        if ((t2 & 3u) == 1u) {
            continue;
        }
        if ((t1 < bitcast<i32>(t2))) {
            break;
        }
        let t4 = v3;
        let t5 = v4;
        let t6 = t4 + t2;
        v3 = t6;
        v4 = (t5 + t3) + select(0u, 1u, (t6 < t4));
        continuing {
            let t7 = v1;
            let t8 = v2;
            let t9 = t7 + 1u;
            v1 = t9;
            v2 = t8 + select(0u, 1u, (t9 < t7));
        }
    }
    loop {
        let t10 = user_kni_soft_upper_product(v1, v1) + ((v1 * v2) + (v2 * v1));
        let t11 = ((0i < bitcast<i32>(v2)) || ((v2 == 0u) && (0u < v1))) && ((bitcast<i32>(t10) < 0i) || ((t10 == 0u) && ((v1 * v1) < 1000u)));
        if (!t11) { break; }
        let t12 = v1;
        let t13 = v2;
        var v5: u32 = 0u;
        var v6: u32 = 0u;
        let t14 = bitcast<i32>(t13);
        loop {
            if (!((bitcast<i32>(v6) < t14) || ((v6 == t13) && (v5 < t12)))) { break; }
            let t15 = v5;
            let t16 = v6;
            if ((t15 == 4u) && (t16 == 0u)) {
                continue;
            }
            let t17 = v3;
            let t18 = v4;
            if ((0i < bitcast<i32>(t18)) || ((t18 == 0u) && (5000u < t17))) {
                let t19 = (item + numbers[3].x) << 1u;
                u_y[t19] = 4294967295u;
                u_y[t19 | 1u] = 4294967295u;
                return;
            }
            let t20 = t17 + t15;
            v3 = t20;
            v4 = (t18 + t16) + select(0u, 1u, (t20 < t17));
            continuing {
                let t21 = v5;
                let t22 = v6;
                let t23 = t21 + 2u;
                v5 = t23;
                v6 = t22 + select(0u, 1u, (t23 < t21));
            }
        }
        if ((t12 == 7u) && (t13 == 0u)) {
            continue;
        }
        let t24 = v3;
        let t25 = v4;
        let t26 = t24 + 100u;
        v3 = t26;
        v4 = t25 + select(0u, 1u, (t26 < t24));
        continuing {
            let t27 = v1;
            let t28 = v2;
            if ((0i < bitcast<i32>(t28)) || ((t28 == 0u) && (10u < t27))) {
                v1 = t27 - 3u;
                v2 = t28 - select(0u, 1u, (t27 < 3u));
            } else {
                v1 = t27 - 1u;
                v2 = t28 - select(0u, 1u, (t27 < 1u));
            }
        }
    }
    let t29 = v4;
    let t30 = (item + numbers[3].x) << 1u;
    u_y[t30] = v3;
    u_y[t30 | 1u] = t29;
}
