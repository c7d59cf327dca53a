/* Generated from src/ops/kernels by tools/gen/kernel_texts.py; do not edit. */
#include "ir/kernel_texts.h"
#include <string.h>

static const char attention_text[] =
    "\n\n\nfunction real score_of(real dot, real scale, real softcap)\n{\nreal s = dot * scale;\nreturn softcap > 0 ? softcap * tanh(s / softcap) : s;\n}\n\n\n"
    "kernel attention(index item, in real q[], in real k[], in real v[], in index mask[], in real bias[], out real y[], index heads,\n"
    "index key_heads, index queries, index keys, index size, index values, index has_mask, index has_bias,\n"
    "index is_causal, uniform index mask_steps[4], uniform index bias_steps[4], real scale, real softcap)\n{\n"
    "index i = item % queries, h = item / queries % heads, b = item / queries / heads;\nindex key_head = b * key_heads + h / (heads / key_heads);\n"
    "index seen = is_causal && i + 1 < keys ? i + 1 : keys;\nindex mask_at = b * mask_steps[0] + h * mask_steps[1] + i * mask_steps[2];\n"
    "index bias_at = b * bias_steps[0] + h * bias_steps[1] + i * bias_steps[2];\nreal highest = -INF, total = 0;\nfor (index d = 0; d < values; d++) y[item * values + d] = 0;\n"
    "for (index pass = 0; pass < 2; pass++)\nfor (index j = 0; j < seen; j++)\nif (!has_mask || mask[mask_at + j * mask_steps[3]]) {\nreal dot = 0;\n"
    "for (index d = 0; d < size; d++) dot += q[item * size + d] * k[(key_head * keys + j) * size + d];\nreal s = score_of(dot, scale, softcap);\n"
    "if (has_bias) s += bias[bias_at + j * bias_steps[3]];\nif (pass == 0) {\nif (s > highest || is_nan(s)) highest = s;\n} else if (s > -INF || is_nan(s)) {\n"
    "real p = exp(s - highest);\ntotal += p;\nfor (index d = 0; d < values; d++) y[item * values + d] += p * v[(key_head * keys + j) * values + d];\n}\n}\nif (total != 0)\n"
    "for (index d = 0; d < values; d++) y[item * values + d] /= total;\n}\n";

static const char contraction_text[] =
    "\n\n\n\nkernel matmul(index item, in T a[], in T b[], out T y[], index m, index n, index k, index rank,\n"
    "uniform index dims[8], uniform index a_steps[8], uniform index b_steps[8])\n{\nindex j = item % n, i = item / n % m, rest = item / n / m;\nindex from_a = i * k, from_b = j;\n"
    "for (index axis = rank - 1; axis >= 0; axis--) {\nfrom_a += rest % dims[axis] * a_steps[axis];\nfrom_b += rest % dims[axis] * b_steps[axis];\nrest /= dims[axis];\n}\n"
    "T total = 0;\nfor (index l = 0; l < k; l++) total += a[from_a + l] * b[from_b + l * n];\ny[item] = total;\n}\n\n\n"
    "kernel linear(index item, in T x[], in T w[], in T bias[], out T y[], index outs, index ins, index has_bias)\n{\nindex o = item % outs, r = item / outs;\nT total = 0;\n"
    "for (index i = 0; i < ins; i++) total += x[r * ins + i] * w[o * ins + i];\nif (has_bias) total += bias[o];\ny[item] = total;\n}\n";

static const char convolution_text[] =
    "\n\n\n\n\nkernel conv(index item, in T x[], in T w[], in T bias[], out T y[], index groups, index channels, index outs,\n"
    "uniform index x_size[3], uniform index kernel_size[3], uniform index y_size[3], uniform index stride[3],\nuniform index padding[3], uniform index dilation[3], index has_bias)\n"
    "{\nindex p2 = item % y_size[2], p1 = item / y_size[2] % y_size[1], rest = item / y_size[2] / y_size[1];\n"
    "index p0 = rest % y_size[0], o = rest / y_size[0] % (groups * outs), n = rest / y_size[0] / (groups * outs);\nindex first = (n * groups + o / outs) * channels;\nT total = 0;\n"
    "for (index c = 0; c < channels; c++)\nfor (index k0 = 0; k0 < kernel_size[0]; k0++)\nfor (index k1 = 0; k1 < kernel_size[1]; k1++)\n"
    "for (index k2 = 0; k2 < kernel_size[2]; k2++) {\nindex i0 = p0 * stride[0] + k0 * dilation[0] - padding[0];\nindex i1 = p1 * stride[1] + k1 * dilation[1] - padding[1];\n"
    "index i2 = p2 * stride[2] + k2 * dilation[2] - padding[2];\nindex tap = (((o * channels + c) * kernel_size[0] + k0) * kernel_size[1] + k1) * kernel_size[2] + k2;\n"
    "if (i0 >= 0 && i0 < x_size[0] && i1 >= 0 && i1 < x_size[1] && i2 >= 0 && i2 < x_size[2])\n"
    "total += x[(((first + c) * x_size[0] + i0) * x_size[1] + i1) * x_size[2] + i2] * w[tap];\n}\nif (has_bias) total += bias[o];\ny[item] = total;\n}\n\n\n\n"
    "kernel conv_transpose(index item, in T x[], in T w[], in T bias[], out T y[], index groups, index channels,\n"
    "index outs, uniform index x_size[3], uniform index kernel_size[3], uniform index y_size[3],\n"
    "uniform index stride[3], uniform index padding[3], uniform index dilation[3], index has_bias)\n{\n"
    "index i2 = item % y_size[2], i1 = item / y_size[2] % y_size[1], rest = item / y_size[2] / y_size[1];\n"
    "index i0 = rest % y_size[0], o = rest / y_size[0] % (groups * outs), n = rest / y_size[0] / (groups * outs);\nindex first = o / outs * channels;\nT total = 0;\n"
    "for (index c = 0; c < channels; c++)\nfor (index k0 = 0; k0 < kernel_size[0]; k0++)\nfor (index k1 = 0; k1 < kernel_size[1]; k1++)\n"
    "for (index k2 = 0; k2 < kernel_size[2]; k2++) {\nindex t0 = i0 + padding[0] - k0 * dilation[0];\nindex t1 = i1 + padding[1] - k1 * dilation[1];\n"
    "index t2 = i2 + padding[2] - k2 * dilation[2];\nindex p0 = t0 / stride[0], p1 = t1 / stride[1], p2 = t2 / stride[2];\n"
    "index tap = ((((first + c) * outs + o % outs) * kernel_size[0] + k0) * kernel_size[1] + k1) *\nkernel_size[2] + k2;\n"
    "if (t0 >= 0 && t1 >= 0 && t2 >= 0 && p0 * stride[0] == t0 && p1 * stride[1] == t1 &&\np2 * stride[2] == t2 && p0 < x_size[0] && p1 < x_size[1] && p2 < x_size[2])\n"
    "total += x[(((n * groups * channels + first + c) * x_size[0] + p0) * x_size[1] + p1) *\nx_size[2] + p2] * w[tap];\n}\nif (has_bias) total += bias[o];\ny[item] = total;\n}\n\n\n"
    "\nkernel conv_weight_grad(index item, in T x[], in T dy[], out T dw[], index batch, index groups, index channels,\n"
    "index outs, uniform index x_size[3], uniform index kernel_size[3], uniform index y_size[3],\nuniform index stride[3], uniform index padding[3], uniform index dilation[3])\n{\n"
    "index k2 = item % kernel_size[2], k1 = item / kernel_size[2] % kernel_size[1];\nindex rest = item / kernel_size[2] / kernel_size[1];\n"
    "index k0 = rest % kernel_size[0], c = rest / kernel_size[0] % channels, o = rest / kernel_size[0] / channels;\nindex from = o / outs * channels + c;\nT total = 0;\n"
    "for (index n = 0; n < batch; n++)\nfor (index p0 = 0; p0 < y_size[0]; p0++)\nfor (index p1 = 0; p1 < y_size[1]; p1++)\nfor (index p2 = 0; p2 < y_size[2]; p2++) {\n"
    "index i0 = p0 * stride[0] + k0 * dilation[0] - padding[0];\nindex i1 = p1 * stride[1] + k1 * dilation[1] - padding[1];\n"
    "index i2 = p2 * stride[2] + k2 * dilation[2] - padding[2];\nindex at = (((n * groups * outs + o) * y_size[0] + p0) * y_size[1] + p1) * y_size[2] + p2;\n"
    "if (i0 >= 0 && i0 < x_size[0] && i1 >= 0 && i1 < x_size[1] && i2 >= 0 && i2 < x_size[2])\n"
    "total += x[(((n * groups * channels + from) * x_size[0] + i0) * x_size[1] + i1) * x_size[2] +\ni2] * dy[at];\n}\ndw[item] = total;\n}\n\n\n\n\n\n"
    "function index inside(index i, index j, index height, index width)\n{\nreturn i >= 0 && i < height && j >= 0 && j < width;\n}\n\n\n"
    "kernel deform_sample(index item, in real x[], in real offset[], in real mask[], out real columns[], index channels,\n"
    "index groups, uniform index x_size[2], uniform index kernel_size[2], uniform index y_size[2],\n"
    "uniform index stride[2], uniform index padding[2], uniform index dilation[2], index has_mask)\n{\n"
    "index taps = kernel_size[0] * kernel_size[1], positions = y_size[0] * y_size[1];\n"
    "index p = item % positions, k = item / positions % taps, c = item / positions / taps % channels;\nindex n = item / positions / taps / channels, g = c / (channels / groups);\n"
    "index at = ((n * groups + g) * taps + k) * 2 * positions + p;\nreal row = (p / y_size[1]) * stride[0] + (k / kernel_size[1]) * dilation[0] - padding[0] + offset[at];\n"
    "real col = (p % y_size[1]) * stride[1] + (k % kernel_size[1]) * dilation[1] - padding[1] + offset[at + positions];\nreal total = 0;\n"
    "if (row > -1 && row < x_size[0] && col > -1 && col < x_size[1]) {\nindex i = (index)floor(row), j = (index)floor(col), plane = (n * channels + c) * x_size[0] * x_size[1];\n"
    "real right = col - j, down = row - i;\nfor (index d = 0; d < 4; d++)\nif (inside(i + d / 2, j + d % 2, x_size[0], x_size[1]))\n"
    "total += x[plane + (i + d / 2) * x_size[1] + j + d % 2] * (d / 2 ? down : 1 - down) *\n(d % 2 ? right : 1 - right);\n}\n"
    "if (has_mask) total *= mask[((n * groups + g) * taps + k) * positions + p];\ncolumns[item] = total;\n}\n\n\n"
    "kernel deform_sample_grad(index item, in real x[], in real offset[], in real dcolumns[], in real mask[], out real dx[],\n"
    "out real doffset[], out real dmask[], index channels, index groups,\nuniform index x_size[2], uniform index kernel_size[2], uniform index y_size[2],\n"
    "uniform index stride[2], uniform index padding[2], uniform index dilation[2], index has_mask)\n{\n"
    "index taps = kernel_size[0] * kernel_size[1], positions = y_size[0] * y_size[1];\nindex own = channels / groups, first = item / groups * channels + item % groups * own;\n"
    "index size = x_size[0] * x_size[1];\nfor (index e = 0; e < own * size; e++) dx[first * size + e] = 0;\nfor (index k = 0; k < taps; k++)\n"
    "for (index p = 0; p < positions; p++) {\nindex at = (item * taps + k) * 2 * positions + p, mask_at = (item * taps + k) * positions + p;\n"
    "real row = (p / y_size[1]) * stride[0] + (k / kernel_size[1]) * dilation[0] - padding[0] + offset[at];\n"
    "real col = (p % y_size[1]) * stride[1] + (k % kernel_size[1]) * dilation[1] - padding[1] +\noffset[at + positions];\n"
    "real by_row = 0, by_col = 0, by_mask = 0, times = has_mask ? mask[mask_at] : 1;\nif (row > -1 && row < x_size[0] && col > -1 && col < x_size[1]) {\n"
    "index i = (index)floor(row), j = (index)floor(col);\nreal right = col - j, down = row - i;\nfor (index d = 0; d < 4; d++)\n"
    "if (inside(i + d / 2, j + d % 2, x_size[0], x_size[1])) {\nreal weight_row = d / 2 ? down : 1 - down, weight_col = d % 2 ? right : 1 - right;\n"
    "index e = (i + d / 2) * x_size[1] + j + d % 2;\nreal total = 0;\nfor (index c = 0; c < own; c++) {\nreal dy = dcolumns[((first + c) * taps + k) * positions + p];\n"
    "total += dy * x[(first + c) * size + e];\ndx[(first + c) * size + e] += dy * times * weight_row * weight_col;\n}\nby_mask += total * weight_row * weight_col;\n"
    "by_row += total * weight_col * (d / 2 ? 1 : -1);\nby_col += total * weight_row * (d % 2 ? 1 : -1);\n}\n}\ndoffset[at] = by_row * times;\n"
    "doffset[at + positions] = by_col * times;\nif (has_mask) dmask[mask_at] = by_mask;\n}\n}\n";

static const char elementwise_text[] =
    "\n\nkernel elementwise_copy(index item, in T x[], out T y[])\n{\ny[item] = x[item];\n}\n";

static const char indexing_text[] =
    "\n\n\n\nfunction index position(index at, index size, index negative)\n{\nindex p = negative && at < 0 ? at + size : at;\nreturn p >= 0 && p < size ? p : -1;\n}\n\n"
    "function T updated(T old, T new_value, index update)\n{\nif (update == 1) return old + new_value;\nif (update == 2) return old * new_value;\n"
    "if (update == 3) return is_nan(old) || old < new_value ? old : new_value;\nif (update == 4) return is_nan(old) || old > new_value ? old : new_value;\nreturn new_value;\n}\n\n\n"
    "kernel take(index item, in T x[], in index at[], out T y[], index axis, index count, index inner, index negative)\n{\n"
    "index i = item % inner, j = item / inner % count, o = item / inner / count;\nindex p = position(at[j], axis, negative);\nif (p < 0) report(at[j]);\n"
    "y[item] = p < 0 ? (T)0 : x[(o * axis + p) * inner + i];\n}\n\n\n"
    "kernel gather(index item, in T x[], in index at[], out T y[], index axis, index count, index inner, index negative)\n{\nindex i = item % inner, o = item / inner / count;\n"
    "index p = position(at[item], axis, negative);\nif (p < 0) report(at[item]);\ny[item] = p < 0 ? (T)0 : x[(o * axis + p) * inner + i];\n}\n\n\n"
    "kernel gather_nd(index item, in T x[], in index at[], out T y[], index depth, index inner, uniform index dims[8])\n{\nindex t = item / inner, place = 0, good = 1;\n"
    "for (index k = 0; k < depth; k++) {\nindex p = position(at[t * depth + k], dims[k], 1);\nif (p < 0) {\nreport(at[t * depth + k]);\ngood = 0;\n}\nplace = place * dims[k] + p;\n"
    "}\ny[item] = good ? x[place * inner + item % inner] : (T)0;\n}\n\n\nkernel select_assign(index item, in T x[], in index at[], in T v[], out T y[], index axis, index count,\n"
    "index inner, index update, index negative)\n{\nindex i = item % inner, o = item / inner;\n"
    "for (index k = 0; k < axis; k++) y[(o * axis + k) * inner + i] = x[(o * axis + k) * inner + i];\nfor (index j = 0; j < count; j++) {\n"
    "index p = position(at[j], axis, negative);\nif (p < 0) {\nreport(at[j]);\n} else {\nindex to = (o * axis + p) * inner + i;\n"
    "y[to] = updated(y[to], v[(o * count + j) * inner + i], update);\n}\n}\n}\n\n\n"
    "kernel scatter(index item, in T x[], in index at[], in T v[], out T y[], index axis, index count, index inner,\nindex update, index negative)\n{\n"
    "index i = item % inner, o = item / inner;\nfor (index k = 0; k < axis; k++) y[(o * axis + k) * inner + i] = x[(o * axis + k) * inner + i];\n"
    "for (index j = 0; j < count; j++) {\nindex from = (o * count + j) * inner + i;\nindex p = position(at[from], axis, negative);\nif (p < 0) {\nreport(at[from]);\n} else {\n"
    "index to = (o * axis + p) * inner + i;\ny[to] = updated(y[to], v[from], update);\n}\n}\n}\n\n\n"
    "kernel scatter_nd(index item, in T x[], in index at[], in T v[], out T y[], index depth, index tuples, index outer,\nindex inner, uniform index dims[8], index update)\n{\n"
    "for (index o = 0; o < outer; o++) y[o * inner + item] = x[o * inner + item];\nfor (index t = 0; t < tuples; t++) {\nindex place = 0, good = 1;\n"
    "for (index k = 0; k < depth; k++) {\nindex p = position(at[t * depth + k], dims[k], 1);\nif (p < 0) {\nreport(at[t * depth + k]);\ngood = 0;\n}\nplace = place * dims[k] + p;\n"
    "}\nif (good) y[place * inner + item] = updated(y[place * inner + item], v[t * inner + item], update);\n}\n}\n\n\n"
    "kernel nonzero(index item, in T x[], out index y[], out index found[], index n, index capacity, index rank,\nuniform index dims[8])\n{\nindex total = 0;\n"
    "for (index e = 0; e < n; e++) {\nif (x[e] != 0) {\nindex rest = e;\nfor (index k = 0; k < rank && total < capacity; k++) {\nindex a = rank - 1 - k;\n"
    "y[total * rank + a] = rest % dims[a];\nrest = rest / dims[a];\n}\ntotal++;\n}\n}\nfor (index e = total * rank; e < capacity * rank; e++) y[e] = 0;\nfound[0] = total;\n}\n";

static const char integer_text[] =
    "\n\n\n\nkernel matmul_integer(index item, in index a[], in index b[], in index a_zero[], in index b_zero[], out index y[], index m,\n"
    "index n, index k, index rank, uniform index dims[8], uniform index a_steps[8], uniform index b_steps[8],\n"
    "uniform index a_zero_steps[8], uniform index b_zero_steps[8], index a_zero_row, index b_zero_column,\nindex has_a_zero, index has_b_zero)\n{\n"
    "index j = item % n, i = item / n % m, rest = item / n / m;\nindex from_a = i * k, from_b = j, left = i * a_zero_row, right = j * b_zero_column;\n"
    "for (index axis = rank - 1; axis >= 0; axis--) {\nindex at = rest % dims[axis];\nfrom_a += at * a_steps[axis];\nfrom_b += at * b_steps[axis];\n"
    "left += at * a_zero_steps[axis];\nright += at * b_zero_steps[axis];\nrest /= dims[axis];\n}\nindex total = 0, zero_a = 0, zero_b = 0;\nif (has_a_zero) zero_a = a_zero[left];\n"
    "if (has_b_zero) zero_b = b_zero[right];\nfor (index l = 0; l < k; l++) total += (a[from_a + l] - zero_a) * (b[from_b + l * n] - zero_b);\ny[item] = total;\n}\n\n\n\n"
    "kernel conv_integer(index item, in index x[], in index w[], in index x_zero[], in index w_zero[], out index y[], index groups,\n"
    "index channels, index outs, uniform index x_size[3], uniform index kernel_size[3],\n"
    "uniform index y_size[3], uniform index stride[3], uniform index padding[3], uniform index dilation[3],\nindex has_x_zero, index has_w_zero, index w_zero_step)\n{\n"
    "index p2 = item % y_size[2], p1 = item / y_size[2] % y_size[1], rest = item / y_size[2] / y_size[1];\n"
    "index p0 = rest % y_size[0], o = rest / y_size[0] % (groups * outs), n = rest / y_size[0] / (groups * outs);\nindex first = (n * groups + o / outs) * channels;\n"
    "index total = 0, zero_x = 0, zero_w = 0;\nif (has_x_zero) zero_x = x_zero[0];\nif (has_w_zero) zero_w = w_zero[o * w_zero_step];\nfor (index c = 0; c < channels; c++)\n"
    "for (index k0 = 0; k0 < kernel_size[0]; k0++)\nfor (index k1 = 0; k1 < kernel_size[1]; k1++)\nfor (index k2 = 0; k2 < kernel_size[2]; k2++) {\n"
    "index i0 = p0 * stride[0] + k0 * dilation[0] - padding[0];\nindex i1 = p1 * stride[1] + k1 * dilation[1] - padding[1];\n"
    "index i2 = p2 * stride[2] + k2 * dilation[2] - padding[2];\nindex tap = (((o * channels + c) * kernel_size[0] + k0) * kernel_size[1] + k1) * kernel_size[2] + k2;\n"
    "if (i0 >= 0 && i0 < x_size[0] && i1 >= 0 && i1 < x_size[1] && i2 >= 0 && i2 < x_size[2])\n"
    "total += (x[(((first + c) * x_size[0] + i0) * x_size[1] + i1) * x_size[2] + i2] - zero_x) *\n(w[tap] - zero_w);\n}\ny[item] = total;\n}\n";

static const char linalg_text[] =
    "\n\n\n\n\n\nkernel cholesky(index item, in real a[], out real l[], index n, index upper)\n{\nindex base = item * n * n;\nfor (index i = 0; i < n * n; i++) l[base + i] = 0;\n"
    "for (index i = 0; i < n; i++) {\nindex row = base + i * n;\nfor (index j = 0; j <= i; j++) {\nindex other = base + j * n;\nreal s = a[upper ? other + i : row + j];\n"
    "if (upper)\nfor (index k = 0; k < j; k++) s -= l[base + k * n + i] * l[base + k * n + j];\nelse\nfor (index k = 0; k < j; k++) s -= l[row + k] * l[other + k];\nif (j < i) {\n"
    "s = s / l[other + j];\n} else {\nif (!(s > 0)) report(item * 4294967296 + i + 1);\ns = sqrt(s);\n}\nl[upper ? other + i : row + j] = s;\n}\n}\n}\n\n\n"
    "kernel triangular_solve(index item, in real a[], in real b[], out real x[], index n, index columns, index upper,\nindex transpose, index unit)\n{\n"
    "index base = item * n * columns, matrix = item * n * n, forward = upper == transpose;\nfor (index i = 0; i < n * columns; i++) x[base + i] = b[base + i];\n"
    "for (index step = 0; step < n; step++) {\nindex i = forward ? step : n - 1 - step, row = base + i * columns;\nif (!unit) {\nreal pivot = a[matrix + i * n + i];\n"
    "for (index c = 0; c < columns; c++) x[row + c] = x[row + c] / pivot;\n}\nfor (index k = forward ? i + 1 : 0; k < (forward ? n : i); k++) {\n"
    "real f = a[matrix + (transpose ? i * n + k : k * n + i)];\nindex other = base + k * columns;\nif (f != 0)\nfor (index c = 0; c < columns; c++) x[other + c] -= f * x[row + c];\n"
    "}\n}\n}\n\n\n\nkernel lu(index item, in real a[], out real y[], out index p[], out real sign[], index m, index n, index strict)\n{\n"
    "index base = item * m * n, rows = item * m, least = m < n ? m : n;\nfor (index i = 0; i < m * n; i++) y[base + i] = a[base + i];\n"
    "for (index i = 0; i < m; i++) p[rows + i] = i;\nsign[item] = 1;\nfor (index k = 0; k < least; k++) {\nindex best = k, top = base + k * n;\nfor (index i = k + 1; i < m; i++)\n"
    "if (abs(y[base + i * n + k]) > abs(y[base + best * n + k])) best = i;\nif (best != k) {\nindex held = p[rows + k];\np[rows + k] = p[rows + best];\np[rows + best] = held;\n"
    "sign[item] = -sign[item];\nfor (index j = 0; j < n; j++) {\nreal v = y[top + j];\ny[top + j] = y[base + best * n + j];\ny[base + best * n + j] = v;\n}\n}\n"
    "real pivot = y[top + k];\nif (pivot == 0) {\nif (strict) report(item * 4294967296 + k);\ncontinue;\n}\nfor (index i = k + 1; i < m; i++) {\nindex row = base + i * n;\n"
    "real f = y[row + k] / pivot;\ny[row + k] = f;\nfor (index j = k + 1; j < n; j++) y[row + j] -= f * y[top + j];\n}\n}\n}\n\n\n"
    "kernel det(index item, in real a[], out real y[], temp real w[], index n)\n{\nindex base = item * n * n;\nreal product = 1;\n"
    "for (index i = 0; i < n * n; i++) w[base + i] = a[base + i];\nfor (index k = 0; k < n; k++) {\nindex best = k, top = base + k * n;\nfor (index i = k + 1; i < n; i++)\n"
    "if (abs(w[base + i * n + k]) > abs(w[base + best * n + k])) best = i;\nif (best != k) {\nproduct = -product;\nfor (index j = k; j < n; j++) {\nreal v = w[top + j];\n"
    "w[top + j] = w[base + best * n + j];\nw[base + best * n + j] = v;\n}\n}\nreal pivot = w[top + k];\nproduct *= pivot;\nif (pivot == 0) continue;\n"
    "for (index i = k + 1; i < n; i++) {\nreal f = w[base + i * n + k] / pivot;\nfor (index j = k + 1; j < n; j++) w[base + i * n + j] -= f * w[top + j];\n}\n}\ny[item] = product;\n"
    "}\n\n\n\n\nkernel cofactor(index item, in real a[], out real y[], temp real w[], temp index order[], index n)\n{\n"
    "index base = item * n * n, u = 2 * base, x = u + n * n, rows = item * 2 * n, cols = rows + n;\nreal product = 1;\nfor (index i = 0; i < n; i++) {\norder[rows + i] = i;\n"
    "order[cols + i] = i;\nfor (index j = 0; j < n; j++) {\nw[u + i * n + j] = a[base + i * n + j];\nw[x + i * n + j] = i == j ? 1 : 0;\n}\n}\nfor (index k = 0; k + 1 < n; k++) {\n"
    "index bi = k, bj = k;\nfor (index i = k; i < n; i++)\nfor (index j = k; j < n; j++)\nif (abs(w[u + i * n + j]) > abs(w[u + bi * n + bj])) {\nbi = i;\nbj = j;\n}\n"
    "if (bi != k) {\nproduct = -product;\nfor (index j = 0; j < n; j++) {\nreal v = w[u + k * n + j];\nw[u + k * n + j] = w[u + bi * n + j];\nw[u + bi * n + j] = v;\n"
    "v = w[x + k * n + j];\nw[x + k * n + j] = w[x + bi * n + j];\nw[x + bi * n + j] = v;\n}\n}\nif (bj != k) {\nindex held = order[cols + k];\norder[cols + k] = order[cols + bj];\n"
    "order[cols + bj] = held;\nproduct = -product;\nfor (index i = 0; i < n; i++) {\nreal v = w[u + i * n + k];\nw[u + i * n + k] = w[u + i * n + bj];\nw[u + i * n + bj] = v;\n}\n"
    "}\nreal pivot = w[u + k * n + k];\nproduct *= pivot;\nif (pivot == 0) continue;\nfor (index i = k + 1; i < n; i++) {\nreal f = w[u + i * n + k] / pivot;\n"
    "for (index j = k; j < n; j++) w[u + i * n + j] -= f * w[u + k * n + j];\nfor (index j = 0; j < n; j++) w[x + i * n + j] -= f * w[x + k * n + j];\n}\n}\n\n"
    "real last = n > 0 ? w[u + n * n - 1] : 0;\nfor (index i = n - 2; i >= 0; i--)\nfor (index j = 0; j < n && product != 0; j++) {\nreal s = last * w[x + i * n + j];\n"
    "for (index k = i + 1; k < n; k++) s -= w[u + i * n + k] * w[x + k * n + j];\nw[x + i * n + j] = s / w[u + i * n + i];\n}\nfor (index i = 0; i < n; i++)\n"
    "for (index j = 0; j < n; j++)\ny[base + j * n + order[cols + i]] = product == 0 ? 0 : product * w[x + i * n + j];\n}\n\n\n\n"
    "kernel qr(index item, in real a[], out real q[], out real r[], temp real w[], temp real t[], temp real tau[],\nindex m, index n, index wide)\n{\n"
    "index base = item * n * m, rows = item * wide * m, scales = item * n, least = m < n ? m : n;\nfor (index i = 0; i < m; i++)\n"
    "for (index j = 0; j < n; j++) w[base + j * m + i] = a[base + i * n + j];\nfor (index k = 0; k < least; k++) {\nindex v = base + k * m;\n"
    "real head = w[v + k], most = 0, size = 0;\nfor (index i = k + 1; i < m; i++)\nif (abs(w[v + i]) > most) most = abs(w[v + i]);\ntau[scales + k] = 0;\nif (most == 0) continue;\n"
    "for (index i = k + 1; i < m; i++) size += w[v + i] / most * (w[v + i] / most);\nsize = most * sqrt(size);\nreal beta = hypot(head, size);\nif (head > 0) beta = -beta;\n"
    "real f = (beta - head) / beta;\ntau[scales + k] = f;\nfor (index i = k + 1; i < m; i++) w[v + i] = w[v + i] / (head - beta);\nw[v + k] = beta;\n"
    "for (index j = k + 1; j < n; j++) {\nindex c = base + j * m;\nreal s = w[c + k], s1 = 0, s2 = 0, s3 = 0;\nindex i = k + 1;\nfor (; i + 3 < m; i += 4) {\n"
    "s += w[v + i] * w[c + i];\ns1 += w[v + i + 1] * w[c + i + 1];\ns2 += w[v + i + 2] * w[c + i + 2];\ns3 += w[v + i + 3] * w[c + i + 3];\n}\n"
    "for (; i < m; i++) s += w[v + i] * w[c + i];\ns = f * (s + s1 + (s2 + s3));\nw[c + k] -= s;\nfor (i = k + 1; i < m; i++) w[c + i] -= s * w[v + i];\n}\n}\n"
    "for (index i = 0; i < wide; i++)\nfor (index j = 0; j < n; j++) r[item * wide * n + i * n + j] = i <= j ? w[base + j * m + i] : 0;\n"
    "for (index i = 0; i < wide * m; i++) t[rows + i] = i / m == i % m ? 1 : 0;\nfor (index k = least - 1; k >= 0; k--) {\nindex v = base + k * m;\n"
    "for (index j = k; j < wide; j++) {\nindex c = rows + j * m;\nreal s = t[c + k], s1 = 0, s2 = 0, s3 = 0;\nindex i = k + 1;\nfor (; i + 3 < m; i += 4) {\n"
    "s += w[v + i] * t[c + i];\ns1 += w[v + i + 1] * t[c + i + 1];\ns2 += w[v + i + 2] * t[c + i + 2];\ns3 += w[v + i + 3] * t[c + i + 3];\n}\n"
    "for (; i < m; i++) s += w[v + i] * t[c + i];\ns = tau[scales + k] * (s + s1 + (s2 + s3));\nt[c + k] -= s;\nfor (i = k + 1; i < m; i++) t[c + i] -= s * w[v + i];\n}\n}\n"
    "for (index i = 0; i < m; i++)\nfor (index j = 0; j < wide; j++) q[item * m * wide + i * wide + j] = t[rows + j * m + i];\n}\n\n\n\n"
    "kernel eigh(index item, in real a[], out real d[], out real y[], temp real w[], temp real z[], temp real e[], index n,\nindex upper)\n{\n"
    "index base = item * n * n, values = item * n, off = item * 3 * n, p = off + n, taus = p + n;\nreal scale = 0;\nfor (index i = 0; i < n; i++)\nfor (index j = 0; j < n; j++) {\n"
    "index low = i > j ? i : j, high = i > j ? j : i;\nreal v = a[base + (upper ? high * n + low : low * n + high)];\nif (!(abs(v) < INF)) report(item * 4294967296 + low);\n"
    "if (abs(v) > scale) scale = abs(v);\nw[base + i * n + j] = v;\nz[base + i * n + j] = i == j ? 1 : 0;\n}\nif (scale == 0) scale = 1;\n"
    "for (index i = 0; i < n * n; i++) w[base + i] = w[base + i] / scale;\n\nfor (index k = 0; k + 2 < n; k++) {\nindex v = base + k * n;\nreal head = w[v + k + 1], size = 0;\n"
    "for (index i = k + 2; i < n; i++) size += w[v + i] * w[v + i];\nsize = sqrt(size);\ne[off + k] = head;\ne[taus + k] = 0;\nif (size == 0) continue;\n"
    "real beta = hypot(head, size);\nif (head > 0) beta = -beta;\nreal f = (beta - head) / beta, half = 0;\ne[off + k] = beta;\ne[taus + k] = f;\nw[v + k + 1] = 1;\n"
    "for (index i = k + 2; i < n; i++) w[v + i] = w[v + i] / (head - beta);\nfor (index i = k + 1; i < n; i++) {\nindex row = base + i * n, j = k + 1;\n"
    "real s = 0, s1 = 0, s2 = 0, s3 = 0;\nfor (; j + 3 < n; j += 4) {\ns += w[row + j] * w[v + j];\ns1 += w[row + j + 1] * w[v + j + 1];\ns2 += w[row + j + 2] * w[v + j + 2];\n"
    "s3 += w[row + j + 3] * w[v + j + 3];\n}\nfor (; j < n; j++) s += w[row + j] * w[v + j];\ne[p + i] = f * (s + s1 + (s2 + s3));\nhalf += 0.5 * f * e[p + i] * w[v + i];\n}\n"
    "for (index i = k + 1; i < n; i++) e[p + i] -= half * w[v + i];\nfor (index i = k + 1; i < n; i++) {\nreal vi = w[v + i], pi = e[p + i];\n"
    "for (index j = k + 1; j < n; j++) w[base + i * n + j] -= vi * e[p + j] + pi * w[v + j];\n}\n}\nfor (index k = n - 3; k >= 0; k--)\nfor (index i = k + 1; i < n; i++) {\n"
    "index v = base + k * n, row = base + i * n, j = k + 1;\nreal s = 0, s1 = 0, s2 = 0, s3 = 0;\nfor (; j + 3 < n; j += 4) {\ns += w[v + j] * z[row + j];\n"
    "s1 += w[v + j + 1] * z[row + j + 1];\ns2 += w[v + j + 2] * z[row + j + 2];\ns3 += w[v + j + 3] * z[row + j + 3];\n}\nfor (; j < n; j++) s += w[v + j] * z[row + j];\n"
    "s = e[taus + k] * (s + s1 + (s2 + s3));\nif (s != 0)\nfor (j = k + 1; j < n; j++) z[row + j] -= s * w[v + j];\n}\n"
    "for (index i = 0; i < n; i++) d[values + i] = w[base + i * n + i];\nif (n > 1) e[off + n - 2] = w[base + n * n - 2];\nif (n > 0) e[off + n - 1] = 0;\n\n"
    "for (index l = 0; l < n; l++)\nfor (index turn = 0; turn <= 60; turn++) {\nindex m = l;\n"
    "while (m + 1 < n && abs(e[off + m]) > 2.2e-16 * (abs(d[values + m]) + abs(d[values + m + 1]))) m++;\nif (m == l) break;\nif (turn == 60) {\nreport(item * 4294967296 + l);\n"
    "break;\n}\nreal g = (d[values + l + 1] - d[values + l]) / (2 * e[off + l]), r = hypot(g, 1.0), s = 1, c = 1, back = 0;\n"
    "g = d[values + m] - d[values + l] + e[off + l] / (g < 0 ? g - r : g + r);\nindex i = m - 1;\nfor (; i >= l; i--) {\nreal f = s * e[off + i], b = c * e[off + i];\n"
    "r = hypot(f, g);\ne[off + i + 1] = r;\nif (r == 0) break;\ns = f / r;\nc = g / r;\ng = d[values + i + 1] - back;\nr = (d[values + i] - g) * s + 2 * c * b;\nback = s * r;\n"
    "d[values + i + 1] = g + back;\ng = c * r - b;\nindex row = base + i * n;\nfor (index k = 0; k < n; k++) {\nreal x0 = z[row + k], x1 = z[row + n + k];\n"
    "z[row + n + k] = s * x0 + c * x1;\nz[row + k] = c * x0 - s * x1;\n}\n}\ne[off + m] = 0;\nif (i >= l) {\nd[values + i + 1] -= back;\ncontinue;\n}\nd[values + l] -= back;\n"
    "e[off + l] = g;\n}\nfor (index i = 0; i < n; i++) {\nindex best = i;\nfor (index j = i + 1; j < n; j++)\nif (d[values + j] < d[values + best]) best = j;\n"
    "real v = d[values + best];\nd[values + best] = d[values + i];\nd[values + i] = v * scale;\nfor (index k = 0; k < n; k++) {\nv = z[base + best * n + k];\n"
    "z[base + best * n + k] = z[base + i * n + k];\ny[base + k * n + i] = v;\n}\n}\n}\n\n\n\n\n\n\n"
    "kernel svd(index item, in real a[], out real u[], out real s[], out real vt[], temp real w[], temp real t[],\n"
    "temp real r[], temp real e[], index m, index n, index left, index right)\n{\nindex flip = m < n, tall = flip ? n : m, low = flip ? m : n, wide = flip ? right : left;\n"
    "index wb = item * low * tall, tb = item * wide * tall, rb = item * low * low, tau = item * 4 * low;\nindex size = tau + low, column = size + low, order = column + low;\n"
    "real scale = 0;\nfor (index i = 0; i < m * n; i++) {\nreal v = a[item * m * n + i];\nif (!(abs(v) < INF)) report(item * 4294967296 + i / n);\n"
    "if (abs(v) > scale) scale = abs(v);\n}\nif (scale == 0) scale = 1;\nfor (index j = 0; j < low; j++) {\ne[column + j] = (real)j;\nfor (index i = 0; i < tall; i++)\n"
    "w[wb + j * tall + i] = a[item * m * n + (flip ? j * n + i : i * n + j)] / scale;\n}\n\nfor (index k = 0; k < low; k++) {\nindex best = k, v = wb + k * tall;\nreal most = -1;\n"
    "for (index j = k; j < low; j++) {\nreal total = 0;\nfor (index i = k; i < tall; i++) total += w[wb + j * tall + i] * w[wb + j * tall + i];\nif (total > most) {\nmost = total;\n"
    "best = j;\n}\n}\nif (best != k) {\nreal held = e[column + k];\ne[column + k] = e[column + best];\ne[column + best] = held;\nfor (index i = 0; i < tall; i++) {\n"
    "held = w[v + i];\nw[v + i] = w[wb + best * tall + i];\nw[wb + best * tall + i] = held;\n}\n}\nreal head = w[v + k], rest = 0;\n"
    "for (index i = k + 1; i < tall; i++) rest += w[v + i] * w[v + i];\nrest = sqrt(rest);\ne[tau + k] = 0;\nif (rest == 0) continue;\nreal beta = hypot(head, rest);\n"
    "if (head > 0) beta = -beta;\nreal f = (beta - head) / beta;\ne[tau + k] = f;\nfor (index i = k + 1; i < tall; i++) w[v + i] = w[v + i] / (head - beta);\nw[v + k] = beta;\n"
    "for (index j = k + 1; j < low; j++) {\nindex c = wb + j * tall;\nreal x = w[c + k];\nfor (index i = k + 1; i < tall; i++) x += w[v + i] * w[c + i];\nx *= f;\nw[c + k] -= x;\n"
    "for (index i = k + 1; i < tall; i++) w[c + i] -= x * w[v + i];\n}\n}\nfor (index i = 0; i < low; i++)\n"
    "for (index j = 0; j < low; j++) r[rb + i * low + j] = i <= j ? w[wb + j * tall + i] : 0;\nfor (index i = 0; i < wide * tall; i++) t[tb + i] = i / tall == i % tall ? 1 : 0;\n"
    "for (index k = low - 1; k >= 0; k--) {\nindex v = wb + k * tall;\nfor (index j = k; j < wide; j++) {\nindex c = tb + j * tall;\nreal x = t[c + k];\n"
    "for (index i = k + 1; i < tall; i++) x += w[v + i] * t[c + i];\nx *= e[tau + k];\nt[c + k] -= x;\nfor (index i = k + 1; i < tall; i++) t[c + i] -= x * w[v + i];\n}\n}\n\n\n"
    "real tolerance = 4e-16 * sqrt((real)low);\nindex turned = 1;\nfor (index sweep = 0; sweep < 60 && turned; sweep++) {\nturned = 0;\nfor (index i = 0; i < low; i++) {\n"
    "real total = 0;\nfor (index k = 0; k < low; k++) total += r[rb + i * low + k] * r[rb + i * low + k];\ne[size + i] = total;\n}\nfor (index i = 0; i < low; i++)\n"
    "for (index j = i + 1; j < low; j++) {\nindex p = rb + i * low, q = rb + j * low;\nreal si = e[size + i], sj = e[size + j], dot = 0, dot1 = 0, dot2 = 0, dot3 = 0;\n"
    "index at = 0;\nfor (; at + 3 < low; at += 4) {\ndot += r[p + at] * r[q + at];\ndot1 += r[p + at + 1] * r[q + at + 1];\ndot2 += r[p + at + 2] * r[q + at + 2];\n"
    "dot3 += r[p + at + 3] * r[q + at + 3];\n}\nfor (; at < low; at++) dot += r[p + at] * r[q + at];\ndot = dot + dot1 + (dot2 + dot3);\n"
    "if (!(abs(dot) > tolerance * sqrt(si) * sqrt(sj)) || si == 0 || sj == 0) continue;\nturned = 1;\nreal z = (sj - si) / (2 * dot), tangent = 1 / (abs(z) + hypot(z, 1.0));\n"
    "if (z < 0) tangent = -tangent;\nreal c = 1 / hypot(tangent, 1.0), b = c * tangent;\nfor (index k = 0; k < low; k++) {\nreal x0 = r[p + k], x1 = r[q + k];\n"
    "r[p + k] = c * x0 - b * x1;\nr[q + k] = b * x0 + c * x1;\n}\nfor (index k = 0; k < tall; k++) {\nreal x0 = t[tb + i * tall + k], x1 = t[tb + j * tall + k];\n"
    "t[tb + i * tall + k] = c * x0 - b * x1;\nt[tb + j * tall + k] = b * x0 + c * x1;\n}\ne[size + i] = si - tangent * dot;\ne[size + j] = sj + tangent * dot;\n"
    "index small = tangent * dot > 0 ? i : j;\nif (e[size + small] < 0.5 * (small == i ? si : sj)) {\nreal total = 0;\n"
    "for (index k = 0; k < low; k++) total += r[rb + small * low + k] * r[rb + small * low + k];\ne[size + small] = total;\n}\n}\n}\n\n\nfor (index i = 0; i < low; i++) {\n"
    "real total = 0;\nfor (index k = 0; k < low; k++) total = hypot(total, r[rb + i * low + k]);\ne[size + i] = total;\n"
    "for (index k = 0; k < low && total > 0; k++) r[rb + i * low + k] = r[rb + i * low + k] / total;\ne[tau + i] = total > 0 ? 1 : 0;\ne[order + i] = (real)i;\n}\n"
    "index candidate = 0;\nfor (index i = 0; i < low; i++)\nfor (; e[tau + i] == 0 && candidate < low; candidate++) {\nindex row = rb + i * low;\n"
    "for (index k = 0; k < low; k++) r[row + k] = k == candidate ? 1 : 0;\nfor (index j = 0; j < 2 * low; j++) {\nindex other = j % low;\nif (e[tau + other] == 0) continue;\n"
    "real dot = 0;\nfor (index k = 0; k < low; k++) dot += r[row + k] * r[rb + other * low + k];\nfor (index k = 0; k < low; k++) r[row + k] -= dot * r[rb + other * low + k];\n}\n"
    "real total = 0;\nfor (index k = 0; k < low; k++) total += r[row + k] * r[row + k];\nif (total * (real)low < 0.5) continue;\ntotal = sqrt(total);\n"
    "for (index k = 0; k < low; k++) r[row + k] = r[row + k] / total;\ne[tau + i] = 1;\n}\nfor (index i = 0; i < low; i++) {\nindex best = i;\nfor (index j = i + 1; j < low; j++)\n"
    "if (e[size + (index)e[order + j]] > e[size + (index)e[order + best]]) best = j;\nreal held = e[order + i];\ne[order + i] = e[order + best];\ne[order + best] = held;\n"
    "s[item * low + i] = e[size + (index)e[order + i]] * scale;\n}\nindex ub = item * m * left, vb = item * n * right;\nfor (index i = 0; i < wide; i++) {\n"
    "index from = i < low ? (index)e[order + i] : i;\nfor (index k = 0; k < tall; k++) {\nif (flip) vt[vb + i * n + k] = t[tb + from * tall + k];\n"
    "else u[ub + k * left + i] = t[tb + from * tall + k];\n}\nfor (index k = 0; k < low && i < low; k++) {\nindex at = (index)e[column + k];\n"
    "if (flip) u[ub + at * left + i] = r[rb + from * low + k];\nelse vt[vb + i * n + at] = r[rb + from * low + k];\n}\n}\n}\n";

static const char loss_text[] =
    "\n\nfunction real log_add(real a, real b)\n{\nreal most = a > b ? a : b, least = a > b ? b : a;\nreturn most == -INF ? most : most + log1p(exp(least - most));\n}\n\n\n\n\n"
    "kernel ctc_loss(index item, in real logp[], in index target[], in index steps_of[], in index labels_of[],\n"
    "out real loss[], out real alpha[], index steps, index batch, index classes, index width,\nindex places, index packed, index labels, index blank)\n{\n"
    "index length = steps_of[item], count = labels_of[item], start = packed ? 0 : item * width;\nindex good = length >= 0 && length <= steps && count >= 0 && count <= places / 2;\n"
    "if (packed)\nfor (index b = 0; b < item; b++) start += labels_of[b] > 0 && labels_of[b] <= places / 2 ? labels_of[b] : 0;\nif (start + count > labels) good = 0;\n"
    "if (!good) report(length >= 0 && length <= steps ? count : length);\nfor (index s = 0; good && s < count; s++)\nif (target[start + s] < 0 || target[start + s] >= classes) {\n"
    "report(target[start + s]);\ngood = 0;\n}\nloss[item] = INF;\nfor (index k = 0; k < steps * places; k++) alpha[item * steps * places + k] = -INF;\n"
    "if (good && length == 0) loss[item] = count == 0 ? 0 : INF;\nif (good && length > 0) {\nindex base = item * steps * places;\nalpha[base] = logp[item * classes + blank];\n"
    "if (count > 0) alpha[base + 1] = logp[item * classes + target[start]];\nfor (index t = 1; t < length; t++)\nfor (index s = 0; s < 2 * count + 1; s++) {\n"
    "index from = base + (t - 1) * places + s;\nindex label = s % 2 ? target[start + s / 2] : blank;\nindex skips = 0;\n"
    "if (s > 1 && s % 2) skips = label != target[start + s / 2 - 1];\nreal a = alpha[from];\nif (s > 0) a = log_add(a, alpha[from - 1]);\n"
    "if (skips) a = log_add(a, alpha[from - 2]);\nalpha[base + t * places + s] = a + logp[(t * batch + item) * classes + label];\n}\n"
    "index last = base + (length - 1) * places + 2 * count;\nloss[item] = -(count > 0 ? log_add(alpha[last], alpha[last - 1]) : alpha[last]);\n}\n}\n\n\n\n"
    "kernel ctc_loss_grad(index item, in real dy[], in real logp[], in index target[], in index steps_of[],\n"
    "in index labels_of[], in real loss[], in real alpha[], out real dlogp[], temp real beta[],\nindex steps, index batch, index classes, index width, index places, index packed,\n"
    "index labels, index blank, index zero_infinity)\n{\nindex length = steps_of[item], count = labels_of[item], start = packed ? 0 : item * width;\n"
    "index good = length >= 0 && length <= steps && count >= 0 && count <= places / 2;\nif (packed)\n"
    "for (index b = 0; b < item; b++) start += labels_of[b] > 0 && labels_of[b] <= places / 2 ? labels_of[b] : 0;\nif (start + count > labels) good = 0;\n"
    "if (!good) report(length >= 0 && length <= steps ? count : length);\nfor (index s = 0; good && s < count; s++)\nif (target[start + s] < 0 || target[start + s] >= classes) {\n"
    "report(target[start + s]);\ngood = 0;\n}\nfor (index t = 0; t < steps; t++)\nfor (index c = 0; c < classes; c++) dlogp[(t * batch + item) * classes + c] = 0;\n"
    "index far = 2 * count, base = item * steps * places, room = item * 2 * places;\nif (zero_infinity && loss[item] == INF) good = 0;\n"
    "for (index t = length - 1; good && t >= 0; t--) {\nindex now = room + t % 2 * places, next = room + (t + 1) % 2 * places;\nfor (index s = 0; s <= far; s++) {\n"
    "index label = s % 2 ? target[start + s / 2] : blank;\nindex skips = 0;\nif (s + 2 <= far && s % 2) skips = label != target[start + s / 2 + 1];\nreal b = -INF;\n"
    "if (t == length - 1) {\nb = s >= far - 1 ? 0 : -INF;\n} else {\nb = beta[next + s];\nif (s + 1 <= far) b = log_add(b, beta[next + s + 1]);\n"
    "if (skips) b = log_add(b, beta[next + s + 2]);\n}\n\nreal there = alpha[base + t * places + s] + b + loss[item];\n"
    "dlogp[(t * batch + item) * classes + label] -= dy[item] * exp(there);\nbeta[now + s] = b + logp[(t * batch + item) * classes + label];\n}\n}\n}\n";

static const char movement_text[] =
    "\n\n\nkernel update_slice(index item, in T x[], in T v[], out T y[], index rank, uniform index dims[8],\nuniform index start[8], uniform index step[8], uniform index size[8])\n"
    "{\nindex rest = item, place = 0, pace = 1, inside = 1;\nfor (index k = 0; k < rank; k++) {\nindex a = rank - 1 - k;\nindex at = rest % dims[a] - start[a];\n"
    "rest = rest / dims[a];\nindex j = at / step[a];\nif (j * step[a] != at || j < 0 || j >= size[a]) inside = 0;\nplace += j * pace;\npace *= size[a];\n}\n"
    "y[item] = inside ? v[place] : x[item];\n}\n\n\nkernel window_grad(index item, in T x[], out T y[], index inner, index length, index windows, index size,\nindex step)\n{\n"
    "index i = item % inner, t = item / inner % length, o = item / inner / length;\nT total = 0;\nfor (index k = t % step; k < size && k <= t; k += step) {\n"
    "index w = (t - k) / step;\nif (w < windows) total += x[((o * windows + w) * inner + i) * size + k];\n}\ny[item] = total;\n}\n\n\n"
    "function index pad_source(index t, index before, index length, index mode)\n{\nindex at = t - before;\nif (at >= 0 && at < length) return at;\n"
    "if (mode == 1) return at < 0 ? -at : 2 * (length - 1) - at;\nif (mode == 2) return at < 0 ? 0 : length - 1;\nif (mode == 3) return at < 0 ? at + length : at - length;\n"
    "return -1;\n}\n\n\nkernel pad(index item, in T x[], out T y[], index rank, uniform index dims[8], uniform index before[8],\n"
    "uniform index padded[8], index mode, real value, index whole)\n{\nindex rest = item, place = 0, pace = 1, inside = 1;\nfor (index k = 0; k < rank; k++) {\n"
    "index a = rank - 1 - k;\nindex at = pad_source(rest % padded[a], before[a], dims[a], mode);\nrest = rest / padded[a];\nif (at < 0) inside = 0;\nplace += at * pace;\n"
    "pace *= dims[a];\n}\nif (inside) y[item] = x[place];\nelse y[item] = IS_FLOAT ? (T)value : (T)whole;\n}\n\n\n"
    "kernel pad_grad(index item, in T x[], out T y[], index inner, index length, index before, index after,\nindex mode)\n{\n"
    "index i = item % inner, t = item / inner % length, o = item / inner / length;\nindex padded = before + length + after;\nT total = x[(o * padded + before + t) * inner + i];\n"
    "if (mode == 1) {\nif (t >= 1 && t <= before) total += x[(o * padded + before - t) * inner + i];\nif (t < length - 1 && t >= length - 1 - after)\n"
    "total += x[(o * padded + before + 2 * (length - 1) - t) * inner + i];\n}\nif (mode == 2 && t == 0)\n"
    "for (index p = 0; p < before; p++) total += x[(o * padded + p) * inner + i];\nif (mode == 2 && t == length - 1)\n"
    "for (index p = before + length; p < padded; p++) total += x[(o * padded + p) * inner + i];\nif (mode == 3) {\n"
    "if (t >= length - before) total += x[(o * padded + before + t - length) * inner + i];\nif (t < after) total += x[(o * padded + before + t + length) * inner + i];\n}\n"
    "y[item] = total;\n}\n";

static const char normalise_text[] =
    "\n\n\nkernel embedding(index item, in T weight[], in index at[], out T y[], index rows, index size)\n{\nindex row = at[item / size];\nif (row < 0 || row >= rows) report(row);\n"
    "else y[item] = weight[row * size + item % size];\n}\n\n\nkernel embedding_grad(index item, in T dy[], in index at[], out T dweight[], index count, index rows,\n"
    "index size, index padding)\n{\nfor (index r = 0; r < rows; r++) dweight[r * size + item] = 0;\nfor (index i = 0; i < count; i++) {\nindex row = at[i];\n"
    "if (row < 0 || row >= rows) {\nreport(row);\n} else if (row != padding) {\ndweight[row * size + item] += dy[i * size + item];\n}\n}\n}\n\n\n\n"
    "kernel rope(index item, in real x[], in real cosines[], in real sines[], out real y[], index tokens, index size,\nindex half, index interleaved, index inverse)\n{\n"
    "index token = item % tokens;\nfor (index k = 0; k < half; k++) {\nindex a = item * size + (interleaved ? 2 * k : k);\nindex b = interleaved ? a + 1 : a + half;\n"
    "real c = cosines[token * half + k];\nreal s = inverse ? -sines[token * half + k] : sines[token * half + k];\nreal u = x[a], v = x[b];\ny[a] = u * c - v * s;\n"
    "y[b] = u * s + v * c;\n}\nfor (index k = 2 * half; k < size; k++) y[item * size + k] = x[item * size + k];\n}\n";

static const char random_text[] =
    "\n\n\nfunction real uniform_53(index high, index low)\n{\nreturn (real)((high << 21) | (low >> 11)) * 1.1102230246251565e-16;\n}\n\n\n\n"
    "kernel categorical(index item, in T p[], out index y[], index n, index samples, index key, index counter)\n{\n"
    "index row = item / samples, block = counter + item / 2, word = item % 2 * 2;\nindex found = -1;\nreal total = 0, sum = 0;\nfor (index k = 0; k < n; k++)\n"
    "if (p[row * n + k] > 0) total += (real)p[row * n + k];\nreal level = total * uniform_53(philox(key, block, word), philox(key, block, word + 1));\n"
    "for (index k = 0; k < n; k++) {\nif (p[row * n + k] > 0 && !(sum > level)) {\nsum += (real)p[row * n + k];\nfound = k;\n}\n}\ny[item] = found;\n}\n";

static const char recurrent_text[] =
    "\n\n\nfunction T activated(T given, index kind, T alpha, T beta, T clip)\n{\nT v = given;\nif (clip > 0 && v > clip) v = clip;\nif (clip > 0 && v < -clip) v = -clip;\n"
    "if (kind == 1) return sigmoid(v);\nif (kind == 2) return tanh(v);\nif (kind == 3) return v < 0 ? 0 : v;\nif (kind == 4) return alpha * v + beta;\n"
    "if (kind == 5) return v < 0 ? alpha * v : v;\nif (kind == 6) return v > alpha ? v : 0;\nif (kind == 7) return alpha * tanh(beta * v);\nif (kind == 8) {\nv = alpha * v + beta;\n"
    "return v < 0 ? 0 : v > 1 ? 1 : v;\n}\nif (kind == 9) return v < 0 ? alpha * expm1(v) : v;\nif (kind == 10) return v / (1 + abs(v));\n"
    "return (v > 0 ? v : 0) + log1p(exp(-abs(v)));\n}\n\n\n"
    "kernel lstm(index item, in T x[], in T w[], in T r[], in T bias[], in index lengths[], in T h0[], in T c0[], in T peepholes[],\n"
    "out T y[], out T h[], out T c[], temp T gates[], index steps, index batch, index ins, index hidden,\n"
    "index directions, index direction, index has_bias, index has_lengths, index has_h, index has_c,\n"
    "index has_peepholes, index input_forget, uniform index kinds[6], uniform real alpha[6], uniform real beta[6],\nreal clip)\n{\n"
    "index b = item % batch, d = item / batch, first = 3 * d, state = item * hidden, gate = item * 4 * hidden;\nindex back = direction == 1 || d == 1, length = steps;\n"
    "if (has_lengths) length = lengths[b];\nfor (index j = 0; j < hidden; j++) {\nh[state + j] = 0;\nc[state + j] = 0;\nif (has_h) h[state + j] = h0[state + j];\n"
    "if (has_c) c[state + j] = c0[state + j];\n}\nfor (index k = 0; k < steps; k++) {\nindex t = back ? steps - 1 - k : k, at = ((t * directions + d) * batch + b) * hidden;\n"
    "for (index j = 0; j < hidden; j++) y[at + j] = 0;\nif (t < length) {\nfor (index g = 0; g < 4 * hidden; g++) {\nT total = 0;\n"
    "for (index i = 0; i < ins; i++) total += x[(t * batch + b) * ins + i] * w[(d * 4 * hidden + g) * ins + i];\n"
    "for (index i = 0; i < hidden; i++) total += h[state + i] * r[(d * 4 * hidden + g) * hidden + i];\n"
    "if (has_bias) total += bias[d * 8 * hidden + g] + bias[d * 8 * hidden + 4 * hidden + g];\ngates[gate + g] = total;\n}\nfor (index j = 0; j < hidden; j++) {\n"
    "T input = gates[gate + j], output = gates[gate + hidden + j];\nT forget = gates[gate + 2 * hidden + j], fresh = gates[gate + 3 * hidden + j];\nif (has_peepholes) {\n"
    "input += peepholes[d * 3 * hidden + j] * c[state + j];\nforget += peepholes[d * 3 * hidden + 2 * hidden + j] * c[state + j];\n}\n"
    "input = activated(input, kinds[first], (T)alpha[first], (T)beta[first], (T)clip);\nforget = activated(forget, kinds[first], (T)alpha[first], (T)beta[first], (T)clip);\n"
    "if (input_forget) forget = 1 - input;\nfresh = activated(fresh, kinds[first + 1], (T)alpha[first + 1], (T)beta[first + 1], (T)clip);\n"
    "T now = forget * c[state + j] + input * fresh;\nif (has_peepholes) output += peepholes[d * 3 * hidden + hidden + j] * now;\n"
    "output = activated(output, kinds[first], (T)alpha[first], (T)beta[first], (T)clip);\nc[state + j] = now;\n"
    "h[state + j] = output * activated(now, kinds[first + 2], (T)alpha[first + 2], (T)beta[first + 2], (T)clip);\ny[at + j] = h[state + j];\n}\n}\n}\n}\n\n\n"
    "kernel gru(index item, in T x[], in T w[], in T r[], in T bias[], in index lengths[], in T h0[], out T y[], out T h[],\n"
    "temp T gates[], index steps, index batch, index ins, index hidden, index directions, index direction,\n"
    "index has_bias, index has_lengths, index has_h, index linear_before_reset, uniform index kinds[6],\nuniform real alpha[6], uniform real beta[6], real clip)\n{\n"
    "index b = item % batch, d = item / batch, first = 2 * d, state = item * hidden, gate = item * 4 * hidden;\n"
    "index back = direction == 1 || d == 1, length = steps, of_x = d * 6 * hidden, of_h = of_x + 3 * hidden;\nif (has_lengths) length = lengths[b];\n"
    "for (index j = 0; j < hidden; j++) {\nh[state + j] = 0;\nif (has_h) h[state + j] = h0[state + j];\n}\nfor (index k = 0; k < steps; k++) {\n"
    "index t = back ? steps - 1 - k : k, at = ((t * directions + d) * batch + b) * hidden;\nfor (index j = 0; j < hidden; j++) y[at + j] = 0;\nif (t < length) {\n"
    "for (index g = 0; g < 2 * hidden; g++) {\nT total = 0;\nfor (index i = 0; i < ins; i++) total += x[(t * batch + b) * ins + i] * w[(d * 3 * hidden + g) * ins + i];\n"
    "for (index i = 0; i < hidden; i++) total += h[state + i] * r[(d * 3 * hidden + g) * hidden + i];\nif (has_bias) total += bias[of_x + g] + bias[of_h + g];\n"
    "gates[gate + g] = activated(total, kinds[first], (T)alpha[first], (T)beta[first], (T)clip);\n}\n"
    "for (index j = 0; j < hidden; j++) gates[gate + 2 * hidden + j] = gates[gate + hidden + j] * h[state + j];\nfor (index j = 0; j < hidden; j++) {\nindex g = 2 * hidden + j;\n"
    "T ahead = 0, behind = 0;\nfor (index i = 0; i < ins; i++) ahead += x[(t * batch + b) * ins + i] * w[(d * 3 * hidden + g) * ins + i];\nif (linear_before_reset)\n"
    "for (index i = 0; i < hidden; i++) behind += h[state + i] * r[(d * 3 * hidden + g) * hidden + i];\nelse\nfor (index i = 0; i < hidden; i++)\n"
    "behind += gates[gate + 2 * hidden + i] * r[(d * 3 * hidden + g) * hidden + i];\nif (has_bias) {\nahead += bias[of_x + g];\nbehind += bias[of_h + g];\n}\n"
    "if (linear_before_reset) behind *= gates[gate + hidden + j];\nahead += behind;\ngates[gate + 3 * hidden + j] =\n"
    "activated(ahead, kinds[first + 1], (T)alpha[first + 1], (T)beta[first + 1], (T)clip);\n}\nfor (index j = 0; j < hidden; j++) {\nT update = gates[gate + j];\n"
    "h[state + j] = (1 - update) * gates[gate + 3 * hidden + j] + update * h[state + j];\ny[at + j] = h[state + j];\n}\n}\n}\n}\n\n\n"
    "kernel rnn(index item, in T x[], in T w[], in T r[], in T bias[], in index lengths[], in T h0[], out T y[], out T h[],\n"
    "temp T gates[], index steps, index batch, index ins, index hidden, index directions, index direction,\n"
    "index has_bias, index has_lengths, index has_h, uniform index kinds[6], uniform real alpha[6],\nuniform real beta[6], real clip)\n{\n"
    "index b = item % batch, d = item / batch, state = item * hidden;\nindex back = direction == 1 || d == 1, length = steps;\nif (has_lengths) length = lengths[b];\n"
    "for (index j = 0; j < hidden; j++) {\nh[state + j] = 0;\nif (has_h) h[state + j] = h0[state + j];\n}\nfor (index k = 0; k < steps; k++) {\n"
    "index t = back ? steps - 1 - k : k, at = ((t * directions + d) * batch + b) * hidden;\nfor (index j = 0; j < hidden; j++) y[at + j] = 0;\nif (t < length) {\n"
    "for (index g = 0; g < hidden; g++) {\nT total = 0;\nfor (index i = 0; i < ins; i++) total += x[(t * batch + b) * ins + i] * w[(d * hidden + g) * ins + i];\n"
    "for (index i = 0; i < hidden; i++) total += h[state + i] * r[(d * hidden + g) * hidden + i];\n"
    "if (has_bias) total += bias[d * 2 * hidden + g] + bias[d * 2 * hidden + hidden + g];\ngates[state + g] = activated(total, kinds[d], (T)alpha[d], (T)beta[d], (T)clip);\n}\n"
    "for (index j = 0; j < hidden; j++) {\nh[state + j] = gates[state + j];\ny[at + j] = h[state + j];\n}\n}\n}\n}\n";

static const char scan_text[] =
    "\n\n\nkernel scan_sum(index item, in T x[], out T y[], index axis, index inner, index reverse, index exclusive)\n{\nindex base = item / inner * axis * inner + item % inner;\n"
    "T total = 0;\nfor (index k = 0; k < axis; k++) {\nindex at = base + (reverse != 0 ? axis - 1 - k : k) * inner;\nT v = x[at];\nif (exclusive != 0) y[at] = total;\ntotal += v;\n"
    "if (exclusive == 0) y[at] = total;\n}\n}\n\nkernel scan_prod(index item, in T x[], out T y[], index axis, index inner, index reverse, index exclusive)\n{\n"
    "index base = item / inner * axis * inner + item % inner;\nT total = 1;\nfor (index k = 0; k < axis; k++) {\nindex at = base + (reverse != 0 ? axis - 1 - k : k) * inner;\n"
    "T v = x[at];\nif (exclusive != 0) y[at] = total;\ntotal *= v;\nif (exclusive == 0) y[at] = total;\n}\n}\n\n\n"
    "kernel scan_max(index item, in T x[], out T y[], out index positions[], index axis, index inner)\n{\nindex base = item / inner * axis * inner + item % inner, at = 0;\n"
    "for (index k = 0; k < axis; k++) {\nT v = x[base + k * inner], best = x[base + at * inner];\nif (v >= best || is_nan(v)) at = k;\ny[base + k * inner] = x[base + at * inner];\n"
    "positions[base + k * inner] = at;\n}\n}\n\nkernel scan_min(index item, in T x[], out T y[], out index positions[], index axis, index inner)\n{\n"
    "index base = item / inner * axis * inner + item % inner, at = 0;\nfor (index k = 0; k < axis; k++) {\nT v = x[base + k * inner], best = x[base + at * inner];\n"
    "if (v <= best || is_nan(v)) at = k;\ny[base + k * inner] = x[base + at * inner];\npositions[base + k * inner] = at;\n}\n}\n\n\n"
    "kernel scan_logsumexp(index item, in T x[], out T y[], index axis, index inner)\n{\nindex base = item / inner * axis * inner + item % inner;\nreal top = -INF, sum = 0;\n"
    "for (index k = 0; k < axis; k++) {\nreal v = (real)x[base + k * inner];\nif (v > top) {\nsum = sum * exp(top - v) + 1.0;\ntop = v;\n} else if (v != -INF) {\n"
    "sum += v == top ? 1.0 : exp(v - top);\n}\ny[base + k * inner] = (T)(sum == 0 ? -INF : top + log(sum));\n}\n}\n\n\n"
    "kernel scan_linear(index item, in T a[], in T b[], out T y[], index axis, index inner, index reverse)\n{\nindex base = item / inner * axis * inner + item % inner;\nT h = 0;\n"
    "for (index k = 0; k < axis; k++) {\nindex at = base + (reverse != 0 ? axis - 1 - k : k) * inner;\nh = k == 0 ? b[at] : a[at] * h + b[at];\ny[at] = h;\n}\n}\n";

static const char signal_text[] =
    "\n\n\nfunction real turn_cos(index k, index n)\n{\nindex octant = 8 * k / n, quarter = n / 4;\nreal unit = 6.283185307179586 / (real)n;\n"
    "if (octant == 0) return cos(unit * (real)k);\nif (octant == 1) return sin(unit * (real)(quarter - k));\nif (octant == 2) return -sin(unit * (real)(k - quarter));\n"
    "if (octant == 3) return -cos(unit * (real)(2 * quarter - k));\nif (octant == 4) return -cos(unit * (real)(k - 2 * quarter));\n"
    "if (octant == 5) return -sin(unit * (real)(3 * quarter - k));\nif (octant == 6) return sin(unit * (real)(k - 3 * quarter));\nreturn cos(unit * (real)(n - k));\n}\n\n\n\n\n\n\n"
    "kernel fft(index item, in real xr[], in real xi[], out real yr[], out real yi[], temp real w[], index has_imag,\n"
    "index size, index inner, index n, index length, index inverse, index room, uniform index factors[64],\nreal scale)\n{\n"
    "index from = item / inner * size * inner + item % inner, to = item / inner * n * inner + item % inner;\n"
    "index a = item * room, b = a + 2 * length, table = b + 2 * length, spectrum = table + 2 * length;\nindex chirp = spectrum + 2 * length, passes = length == n ? 1 : 3;\n"
    "for (index k = 0; k < length; k++) {\nw[table + k] = turn_cos(4 * k, 4 * length);\nw[table + length + k] = -turn_cos((4 * k + 3 * length) % (4 * length), 4 * length);\n}\n"
    "for (index k = 0; k < n && passes == 3; k++) {\nindex square = k * k % (2 * n);\nw[chirp + k] = turn_cos(4 * square, 8 * n);\n"
    "w[chirp + n + k] = turn_cos((4 * square + 6 * n) % (8 * n), 8 * n);\n}\nfor (index pass = 0; pass < passes; pass++) {\nfor (index k = 0; k < length; k++) {\n"
    "index j = pass == 0 && passes == 3 && k > length - n ? length - k : k;\nreal re = 0, im = 0;\nif (pass == 0 && passes == 3) {\nre = j < n ? w[chirp + j] : 0;\n"
    "im = j < n ? w[chirp + n + j] : 0;\n} else if (pass == 2) {\nre = w[a + k] * w[spectrum + k] - w[a + length + k] * w[spectrum + length + k];\n"
    "im = -(w[a + k] * w[spectrum + length + k] + w[a + length + k] * w[spectrum + k]);\n} else if (k < size && k < n) {\nre = xr[from + k * inner];\n"
    "im = has_imag ? xi[from + k * inner] : 0;\nif (inverse) im = -im;\nif (passes == 3) {\nreal v = re * w[chirp + k] + im * w[chirp + n + k];\n"
    "im = im * w[chirp + k] - re * w[chirp + n + k];\nre = v;\n}\n}\nw[a + k] = re;\nw[a + length + k] = im;\n}\nindex l = 1, m = length, source = a, target = b;\n"
    "for (index stage = 0; stage < 64 && factors[stage] > 1; stage++) {\nindex f = factors[stage];\nm = m / f;\nfor (index k = 0; k < m; k++)\nfor (index j = 0; j < l; j++) {\n"
    "real re[32];\nreal im[32];\nfor (index q = 0; q < f; q++) {\nindex at = source + (q * m + k) * l + j, turn = q * j * m;\n"
    "real c = w[table + turn], s = w[table + length + turn];\nre[q] = w[at] * c - w[at + length] * s;\nim[q] = w[at] * s + w[at + length] * c;\n}\n"
    "index put = target + k * f * l + j;\nif (f == 4) {\nreal pr = re[0] + re[2], pi = im[0] + im[2], mr = re[0] - re[2], mi = im[0] - im[2];\n"
    "real qr = re[1] + re[3], qi = im[1] + im[3], nr = re[1] - re[3], ni = im[1] - im[3];\nw[put] = pr + qr;\nw[put + length] = pi + qi;\nw[put + l] = mr + ni;\n"
    "w[put + l + length] = mi - nr;\nw[put + 2 * l] = pr - qr;\nw[put + 2 * l + length] = pi - qi;\nw[put + 3 * l] = mr - ni;\nw[put + 3 * l + length] = mi + nr;\ncontinue;\n}\n"
    "for (index p = 0; p < f; p++) {\nreal sr = re[0], si = im[0];\nfor (index q = 1; q < f; q++) {\nindex turn = p * q % f * (length / f);\n"
    "real c = w[table + turn], s = w[table + length + turn];\nsr += re[q] * c - im[q] * s;\nsi += re[q] * s + im[q] * c;\n}\nw[put + p * l] = sr;\nw[put + p * l + length] = si;\n}\n"
    "}\nl = l * f;\nindex held = source;\nsource = target;\ntarget = held;\n}\nindex keep = pass == 0 && passes == 3 ? spectrum : a;\n"
    "for (index k = 0; k < 2 * length && keep != source; k++) w[keep + k] = w[source + k];\n}\nfor (index k = 0; k < n; k++) {\nreal re = w[a + k], im = w[a + length + k];\n"
    "if (passes == 3) {\nreal v = (re * w[chirp + k] - im * w[chirp + n + k]) / (real)length;\nim = -(re * w[chirp + n + k] + im * w[chirp + k]) / (real)length;\nre = v;\n}\n"
    "yr[to + k * inner] = re * scale;\nyi[to + k * inner] = (inverse ? -im : im) * scale;\n}\n}\n";

static const char sorting_text[] =
    "\n\n\n\nfunction index stands_before(T a, T b, index descending)\n{\nif (descending != 0) return a > b || (is_nan(a) && !is_nan(b)) ? 1 : 0;\n"
    "return a < b || (is_nan(b) && !is_nan(a)) ? 1 : 0;\n}\n\nkernel sort_lines(index item, in T x[], out T y[], out index p[], temp index w[], index axis, index inner,\n"
    "index descending)\n{\nindex base = item / inner * axis * inner + item % inner;\nfor (index k = 0; k < axis; k++) p[base + k * inner] = k;\n"
    "for (index width = 1; width < axis; width *= 2) {\nfor (index from = 0; from < axis; from += 2 * width) {\nindex middle = from + width < axis ? from + width : axis;\n"
    "index end = from + 2 * width < axis ? from + 2 * width : axis;\nindex a = from, b = middle;\nfor (index k = from; k < end; k++) {\nindex take_b = a >= middle ? 1 : 0;\n"
    "if (a < middle && b < end)\ntake_b = stands_before(x[base + p[base + b * inner] * inner],\nx[base + p[base + a * inner] * inner], descending);\nif (take_b != 0) {\n"
    "w[base + k * inner] = p[base + b * inner];\nb++;\n} else {\nw[base + k * inner] = p[base + a * inner];\na++;\n}\n}\n}\n"
    "for (index k = 0; k < axis; k++) p[base + k * inner] = w[base + k * inner];\n}\nfor (index k = 0; k < axis; k++) y[base + k * inner] = x[base + p[base + k * inner] * inner];\n"
    "}\n\n\n\nkernel sort_pick(index item, in T x[], out T y[], out index positions[], temp index p[], temp index w[], index axis,\n"
    "index inner, index descending, index first, index n, index unsorted, index propagate)\n{\n"
    "index base = item / inner * axis * inner + item % inner, to = item / inner * n * inner + item % inner;\nfor (index k = 0; k < axis; k++) p[base + k * inner] = k;\n"
    "for (index width = 1; width < axis; width *= 2) {\nfor (index from = 0; from < axis; from += 2 * width) {\nindex middle = from + width < axis ? from + width : axis;\n"
    "index end = from + 2 * width < axis ? from + 2 * width : axis;\nindex a = from, b = middle;\nfor (index k = from; k < end; k++) {\nindex take_b = a >= middle ? 1 : 0;\n"
    "if (a < middle && b < end)\ntake_b = stands_before(x[base + p[base + b * inner] * inner],\nx[base + p[base + a * inner] * inner], descending);\nif (take_b != 0) {\n"
    "w[base + k * inner] = p[base + b * inner];\nb++;\n} else {\nw[base + k * inner] = p[base + a * inner];\na++;\n}\n}\n}\n"
    "for (index k = 0; k < axis; k++) p[base + k * inner] = w[base + k * inner];\n}\nindex found = 0;\nif (unsorted != 0) {\n"
    "for (index k = 0; k < axis; k++) w[base + p[base + k * inner] * inner] = k;\nfor (index k = 0; k < axis; k++)\n"
    "if (w[base + k * inner] >= first && w[base + k * inner] < first + n) {\npositions[to + found * inner] = k;\nfound++;\n}\n} else {\n"
    "for (index k = 0; k < n; k++) positions[to + k * inner] = p[base + (first + k) * inner];\n}\nif (propagate != 0) {\nfor (index k = axis - 1; k >= 0; k--)\n"
    "if (is_nan(x[base + k * inner])) positions[to] = k;\n}\nfor (index k = 0; k < n; k++) y[to + k * inner] = x[base + positions[to + k * inner] * inner];\n}\n\n\n"
    "kernel search_sorted(index item, in T sorted[], in T values[], out index y[], index n, index m, index lines,\nindex right)\n{\n"
    "index base = lines == 1 ? 0 : item / m * n, low = 0, high = n;\nT v = values[item];\nwhile (low < high) {\nindex middle = low + (high - low) / 2;\n"
    "T s = sorted[base + middle];\nindex after = right != 0 ? 1 - stands_before(v, s, 0) : stands_before(s, v, 0);\nif (after != 0) low = middle + 1;\nelse high = middle;\n}\n"
    "y[item] = low;\n}\n\n\nkernel unique_all(index item, in T x[], out T values[], out index inverse[], out index counts[], out index count[],\n"
    "temp index p[], temp index w[], index n)\n{\nfor (index k = 0; k < n; k++) p[k] = k;\nfor (index width = 1; width < n; width *= 2) {\n"
    "for (index from = 0; from < n; from += 2 * width) {\nindex middle = from + width < n ? from + width : n;\nindex end = from + 2 * width < n ? from + 2 * width : n;\n"
    "index a = from, b = middle;\nfor (index k = from; k < end; k++) {\nindex take_b = a >= middle ? 1 : 0;\n"
    "if (a < middle && b < end) take_b = stands_before(x[p[b]], x[p[a]], 0);\nif (take_b != 0) {\nw[k] = p[b];\nb++;\n} else {\nw[k] = p[a];\na++;\n}\n}\n}\n"
    "for (index k = 0; k < n; k++) p[k] = w[k];\n}\nindex found = 0;\nfor (index k = 0; k < n; k++) {\nT v = x[p[k]];\nif (k == 0 || v != values[found - 1]) {\nvalues[found] = v;\n"
    "counts[found] = 0;\nfound++;\n}\ncounts[found - 1] += 1;\ninverse[p[k]] = found - 1;\n}\nfor (index k = found; k < n; k++) {\nvalues[k] = 0;\ncounts[k] = 0;\n}\n"
    "count[0] = found;\n}\n\n\nkernel count_bins(index item, in index x[], out index y[], index n, index length)\n{\nfor (index k = 0; k < length; k++) y[k] = 0;\n"
    "for (index k = 0; k < n; k++) {\nindex v = x[k];\nif (v < 0 || v >= length) report(v);\nelse y[v] += 1;\n}\n}\n\n\n"
    "kernel weigh_bins(index item, in index x[], in real weights[], out real y[], index n, index length)\n{\nfor (index k = 0; k < length; k++) y[k] = 0;\n"
    "for (index k = 0; k < n; k++) {\nindex v = x[k];\nif (v < 0 || v >= length) report(v);\nelse y[v] += weights[k];\n}\n}\n";

static const char spatial_text[] =
    "\n\n\n\n\n\n\nfunction real step_of(index aligned, index in_size, index out_size, real given)\n{\n"
    "if (aligned) return out_size > 1 ? (real)(in_size - 1) / (real)(out_size - 1) : 0.0;\nreturn given > 0.0 ? given : (real)in_size / (real)out_size;\n}\n\n\n"
    "function index filter_reach(index mode) { return mode < 2 ? 1 : mode - 1; }\n\n\nfunction real filter_at(index mode, index smooth, real d)\n{\nd = abs(d);\n"
    "if (mode == 2) return d < 1.0 ? 1.0 - d : 0.0;\nif (mode == 3) {\nreal a = smooth ? -0.5 : -0.75;\nif (d < 1.0) return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;\n"
    "return d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a : 0.0;\n}\nreal turn = 3.14159265358979323846 * d;\nif (d >= 3.0) return 0.0;\n"
    "return d == 0.0 ? 1.0 : 3.0 * sin(turn) * sin(turn / 3.0) / (turn * turn);\n}\n\n\n"
    "function real source_of(index mode, index aligned, index o, index in_size, index out_size, real given)\n{\n"
    "if (aligned) return out_size > 1 ? (real)(o * (in_size - 1)) / (real)(out_size - 1) : 0.0;\nreal at = given > 0.0 ? given * ((real)o + 0.5) - 0.5\n"
    ": (real)((2 * o + 1) * in_size - out_size) / (real)(2 * out_size);\nreturn mode == 2 && at < 0.0 ? 0.0 : at;\n}\n\n"
    "function real smooth_support(index mode, real step) { return (real)filter_reach(mode) * (step > 1.0 ? step : 1.0); }\n\n\n"
    "function index first_tap(index mode, index aligned, index smooth, index o, index in_size, index out_size, real given)\n{\nif (in_size == 1 && out_size == 1) return 0;\n"
    "if (mode == 0) return given > 0.0 ? (index)((real)o * given) : o * in_size / out_size;\n"
    "if (mode == 1) return given > 0.0 ? (index)(((real)o + 0.5) * given) : (2 * o + 1) * in_size / (2 * out_size);\n"
    "if (!smooth) return (index)floor(source_of(mode, aligned, o, in_size, out_size, given)) - filter_reach(mode) + 1;\nreal step = step_of(aligned, in_size, out_size, given);\n"
    "real at = step * ((real)o + 0.5) - smooth_support(mode, step) + 0.5;\nreturn at > 0.0 ? (index)at : 0;\n}\n\n"
    "function index tap_count(index mode, index aligned, index smooth, index o, index in_size, index out_size, real given)\n{\n"
    "if (mode < 2 || (in_size == 1 && out_size == 1)) return 1;\nif (!smooth) return 2 * filter_reach(mode);\nreal step = step_of(aligned, in_size, out_size, given);\n"
    "index end = (index)(step * ((real)o + 0.5) + smooth_support(mode, step) + 0.5);\n"
    "return (end < in_size ? end : in_size) - first_tap(mode, aligned, smooth, o, in_size, out_size, given);\n}\n\n\n"
    "function real tap_weight(index mode, index aligned, index smooth, index o, index t, index in_size, index out_size, real given)\n{\n"
    "if (mode < 2 || (in_size == 1 && out_size == 1)) return 1.0;\nif (!smooth) return filter_at(mode, 0, source_of(mode, aligned, o, in_size, out_size, given) - (real)t);\n"
    "real step = step_of(aligned, in_size, out_size, given);\nreturn filter_at(mode, 1, ((real)t + 0.5 - step * ((real)o + 0.5)) / (step > 1.0 ? step : 1.0));\n}\n\n\n"
    "function real tap_total(index mode, index aligned, index smooth, index o, index in_size, index out_size, real given)\n{\nif (mode < 4 && !smooth) return 1.0;\n"
    "real total = 0.0;\nindex first = first_tap(mode, aligned, smooth, o, in_size, out_size, given);\nindex count = tap_count(mode, aligned, smooth, o, in_size, out_size, given);\n"
    "for (index k = 0; k < count; k++) total += tap_weight(mode, aligned, smooth, o, first + k, in_size, out_size, given);\nreturn total;\n}\n\n"
    "function index to_edge(index t, index size) { return t < 0 ? 0 : t >= size ? size - 1 : t; }\n\n\n"
    "kernel interpolate_taps(index item, out index positions[], out real weights[], index mode, index aligned, index smooth,\n"
    "index in_size, index out_size, index width, real given)\n{\nindex first = first_tap(mode, aligned, smooth, item, in_size, out_size, given);\n"
    "index count = tap_count(mode, aligned, smooth, item, in_size, out_size, given);\nreal total = tap_total(mode, aligned, smooth, item, in_size, out_size, given);\n"
    "for (index k = 0; k < width; k++) {\npositions[item * width + k] = k < count ? to_edge(first + k, in_size) : -1;\nweights[item * width + k] =\n"
    "k < count ? tap_weight(mode, aligned, smooth, item, first + k, in_size, out_size, given) / total : 0.0;\n}\n}\n\n\n"
    "kernel interpolate(index item, in T x[], out T y[], index mode, index aligned, index smooth, uniform index sx[3],\nuniform index sy[3], real step0, real step1, real step2)\n{\n"
    "index o2 = item % sy[2], o1 = item / sy[2] % sy[1], o0 = item / sy[2] / sy[1] % sy[0];\nindex plane = item / sy[2] / sy[1] / sy[0] * sx[0] * sx[1] * sx[2];\n"
    "index f0 = first_tap(mode, aligned, smooth, o0, sx[0], sy[0], step0), n0 = tap_count(mode, aligned, smooth, o0, sx[0], sy[0], step0);\n"
    "index f1 = first_tap(mode, aligned, smooth, o1, sx[1], sy[1], step1), n1 = tap_count(mode, aligned, smooth, o1, sx[1], sy[1], step1);\n"
    "index f2 = first_tap(mode, aligned, smooth, o2, sx[2], sy[2], step2), n2 = tap_count(mode, aligned, smooth, o2, sx[2], sy[2], step2);\nreal total = 0.0;\n"
    "for (index k0 = 0; k0 < n0; k0++) {\nreal w0 = tap_weight(mode, aligned, smooth, o0, f0 + k0, sx[0], sy[0], step0);\nfor (index k1 = 0; k1 < n1; k1++) {\n"
    "real w1 = w0 * tap_weight(mode, aligned, smooth, o1, f1 + k1, sx[1], sy[1], step1);\nindex row = plane + (to_edge(f0 + k0, sx[0]) * sx[1] + to_edge(f1 + k1, sx[1])) * sx[2];\n"
    "for (index k2 = 0; k2 < n2; k2++)\ntotal += w1 * tap_weight(mode, aligned, smooth, o2, f2 + k2, sx[2], sy[2], step2) *\n(real)x[row + to_edge(f2 + k2, sx[2])];\n}\n}\n"
    "y[item] = (T)(total / (tap_total(mode, aligned, smooth, o0, sx[0], sy[0], step0) *\ntap_total(mode, aligned, smooth, o1, sx[1], sy[1], step1) *\n"
    "tap_total(mode, aligned, smooth, o2, sx[2], sy[2], step2)));\n}\n\n\n"
    "function index first_reader(index mode, index aligned, index i, index in_size, index out_size, real given)\n{\nreal step = step_of(aligned, in_size, out_size, given);\n"
    "if (i == 0 || step <= 0.0) return 0;\nreal at = ((real)i - smooth_support(mode, step) - 2.0) / step - 2.0;\nreturn at <= 0.0 ? 0 : at < (real)out_size ? (index)at : out_size;\n"
    "}\nfunction index end_reader(index mode, index aligned, index i, index in_size, index out_size, real given)\n{\nreal step = step_of(aligned, in_size, out_size, given);\n"
    "if (i == in_size - 1 || step <= 0.0) return out_size;\nreal at = ((real)i + smooth_support(mode, step) + 2.0) / step + 2.0;\n"
    "return at < (real)out_size ? (index)at : out_size;\n}\n\n\n"
    "function real weight_between(index mode, index aligned, index smooth, index o, index i, index in_size, index out_size, real given)\n{\nreal weight = 0.0;\n"
    "index first = first_tap(mode, aligned, smooth, o, in_size, out_size, given);\nindex count = tap_count(mode, aligned, smooth, o, in_size, out_size, given);\n"
    "if ((first > i && i > 0) || (first + count <= i && i < in_size - 1)) return 0.0;\nfor (index k = 0; k < count; k++)\nif (to_edge(first + k, in_size) == i)\n"
    "weight += tap_weight(mode, aligned, smooth, o, first + k, in_size, out_size, given);\n"
    "return weight == 0.0 ? 0.0 : weight / tap_total(mode, aligned, smooth, o, in_size, out_size, given);\n}\n\n\n"
    "kernel interpolate_grad(index item, in T dy[], out T dx[], index mode, index aligned, index smooth, uniform index sx[3],\n"
    "uniform index sy[3], real step0, real step1, real step2)\n{\nindex i2 = item % sx[2], i1 = item / sx[2] % sx[1], i0 = item / sx[2] / sx[1] % sx[0];\n"
    "index plane = item / sx[2] / sx[1] / sx[0] * sy[0] * sy[1] * sy[2];\nindex e0 = end_reader(mode, aligned, i0, sx[0], sy[0], step0);\n"
    "index e1 = end_reader(mode, aligned, i1, sx[1], sy[1], step1);\nindex e2 = end_reader(mode, aligned, i2, sx[2], sy[2], step2);\nreal total = 0.0;\n"
    "for (index o0 = first_reader(mode, aligned, i0, sx[0], sy[0], step0); o0 < e0; o0++) {\nreal w0 = weight_between(mode, aligned, smooth, o0, i0, sx[0], sy[0], step0);\n"
    "if (w0 == 0.0) continue;\nfor (index o1 = first_reader(mode, aligned, i1, sx[1], sy[1], step1); o1 < e1; o1++) {\n"
    "real w1 = w0 * weight_between(mode, aligned, smooth, o1, i1, sx[1], sy[1], step1);\nif (w1 == 0.0) continue;\n"
    "for (index o2 = first_reader(mode, aligned, i2, sx[2], sy[2], step2); o2 < e2; o2++) {\nreal w2 = weight_between(mode, aligned, smooth, o2, i2, sx[2], sy[2], step2);\n"
    "if (w2 != 0.0) total += w1 * w2 * (real)dy[plane + (o0 * sy[1] + o1) * sy[2] + o2];\n}\n}\n}\ndx[item] = (T)total;\n}\n\n\n\n\n\n"
    "function real place_of(real g, index aligned, index size)\n{\nreal at = aligned ? (g + 1.0) / 2.0 * (real)(size - 1) : ((g + 1.0) * (real)size - 1.0) / 2.0;\n"
    "if (is_nan(at)) return -100.0;\nreturn at > 1e9 ? 1e9 : at < -1e9 ? -1e9 : at;\n}\n\n\nfunction real reflect_low(index aligned) { return aligned ? 0.0 : -0.5; }\n"
    "function real reflect_span(index aligned, index size) { return aligned ? (real)(size - 1) : (real)size; }\nfunction real reflect(real at, index aligned, index size)\n{\n"
    "real low = reflect_low(aligned), span = reflect_span(aligned, size);\nif (span <= 0.0) return 0.0;\nreal distance = abs(at - low);\n"
    "real turns = floor(distance / span), rest = distance - turns * span;\nreturn turns - 2.0 * floor(turns / 2.0) == 0.0 ? rest + low : span - rest + low;\n}\n\n"
    "function real clamp_place(real at, index size)\n{\nreturn at > 0.0 ? (at < (real)(size - 1) ? at : (real)(size - 1)) : 0.0;\n}\n\n"
    "function real padded_place(real at, index padding, index aligned, index size)\n{\nif (padding == 2) at = reflect(at, aligned, size);\n"
    "return padding == 0 ? at : clamp_place(at, size);\n}\n\n\nfunction real padded_slope(real at, index padding, index aligned, index size)\n{\nif (padding == 0) return 1.0;\n"
    "real slope = 1.0;\nif (padding == 2) {\nreal low = reflect_low(aligned), span = reflect_span(aligned, size);\nif (span <= 0.0) return 0.0;\n"
    "real turns = floor(abs(at - low) / span);\nslope = (at < low) == (turns - 2.0 * floor(turns / 2.0) == 0.0) ? -1.0 : 1.0;\nat = reflect(at, aligned, size);\n}\n"
    "return at <= 0.0 || at >= (real)(size - 1) ? 0.0 : slope;\n}\n\n\nfunction real cubic_at(real a, real b, real c, real e, real d, index order)\n{\n"
    "if (order == 0) return ((a * d + b) * d + c) * d + e;\nif (order == 1) return (3.0 * a * d + 2.0 * b) * d + c;\n"
    "return order == 2 ? 6.0 * a * d + 2.0 * b : order == 3 ? 6.0 * a : 0.0;\n}\n\n\nfunction real neighbour_weight(index mode, real part, index k, index order)\n{\n"
    "if (mode == 0) return order == 0 ? 1.0 : 0.0;\nif (mode == 1) {\nif (order == 0) return k == 0 ? 1.0 - part : part;\nreturn order > 1 ? 0.0 : k == 0 ? -1.0 : 1.0;\n}\n"
    "real sign = k >= 2 && order % 2 == 1 ? -1.0 : 1.0;\nif (k == 1 || k == 2) return sign * cubic_at(1.25, -2.25, 0.0, 1.0, k == 1 ? part : 1.0 - part, order);\n"
    "return sign * cubic_at(-0.75, 3.75, -6.0, 3.0, k == 0 ? part + 1.0 : 2.0 - part, order);\n}\n\n\nfunction real sample_spoiled(real g, index mode, index padding, index order)\n"
    "{\nif (!is_nan(g)) return 0.0;\nreturn mode == 2 ? (order < 3 ? g : 0.0) : mode == 1 && padding == 0 && order == 0 ? g : 0.0;\n}\n\n\n"
    "function real sample_place(real g, index mode, index padding, index aligned, index size)\n{\nreal at = place_of(g, aligned, size);\n"
    "if (mode != 2 && padding != 0 && is_nan(g)) return 0.0;\nreturn mode == 2 ? at : padded_place(at, padding, aligned, size);\n}\n"
    "function index sample_first(real at, index mode) { return mode == 0 ? (index)round(at) : (index)floor(at) - (mode == 2); }\n"
    "function real sample_factor(real g, index mode, index padding, index aligned, index size, index order)\n{\nif (order == 0) return 1.0;\n"
    "real one = (aligned ? (real)(size - 1) : (real)size) / 2.0, factor = 1.0;\nif (mode != 2) one *= padded_slope(place_of(g, aligned, size), padding, aligned, size);\n"
    "for (index k = 0; k < order; k++) factor *= one;\nreturn factor;\n}\n\nfunction index sample_position(index at, index mode, index padding, index aligned, index size)\n{\n"
    "if (mode == 2 && padding != 0) return (index)padded_place((real)at, padding, aligned, size);\nreturn at >= 0 && at < size ? at : -1;\n}\n\n\n"
    "kernel grid_sample(index item, in T x[], in real grid[], out T y[], index mode, index padding, index aligned, index axes,\n"
    "index channels, uniform index sx[3], uniform index sy[3], uniform index order[3])\n{\nindex points = sy[0] * sy[1] * sy[2], plane = item / points;\n"
    "index g = (plane / channels * points + item % points) * axes;\nindex taps = mode == 0 ? 1 : mode == 1 ? 2 : 4, n0 = axes > 2 ? taps : 1, n1 = axes > 1 ? taps : 1;\n"
    "real g0 = axes > 2 ? grid[g + 2] : 0.0, g1 = axes > 1 ? grid[g + 1] : 0.0, g2 = grid[g];\nreal a0 = axes > 2 ? sample_place(g0, mode, padding, aligned, sx[0]) : 0.0;\n"
    "real a1 = axes > 1 ? sample_place(g1, mode, padding, aligned, sx[1]) : 0.0;\nreal a2 = sample_place(g2, mode, padding, aligned, sx[2]);\n"
    "index f0 = axes > 2 ? sample_first(a0, mode) : 0, f1 = axes > 1 ? sample_first(a1, mode) : 0;\nindex f2 = sample_first(a2, mode);\n\n"
    "real total = sample_spoiled(g0, mode, padding, order[0]) + sample_spoiled(g1, mode, padding, order[1]) +\nsample_spoiled(g2, mode, padding, order[2]);\n"
    "for (index k0 = 0; k0 < n0; k0++) {\nindex i0 = axes > 2 ? sample_position(f0 + k0, mode, padding, aligned, sx[0]) : 0;\n"
    "real w0 = axes > 2 ? neighbour_weight(mode, a0 - floor(a0), k0, order[0]) : 1.0;\nif (i0 < 0) continue;\nfor (index k1 = 0; k1 < n1; k1++) {\n"
    "index i1 = axes > 1 ? sample_position(f1 + k1, mode, padding, aligned, sx[1]) : 0;\nreal w1 = axes > 1 ? w0 * neighbour_weight(mode, a1 - floor(a1), k1, order[1]) : w0;\n"
    "if (i1 < 0) continue;\nfor (index k2 = 0; k2 < taps; k2++) {\nindex i2 = sample_position(f2 + k2, mode, padding, aligned, sx[2]);\nif (i2 < 0) continue;\n"
    "total += w1 * neighbour_weight(mode, a2 - floor(a2), k2, order[2]) *\n(real)x[((plane * sx[0] + i0) * sx[1] + i1) * sx[2] + i2];\n}\n}\n}\n"
    "y[item] = (T)(total * sample_factor(g0, mode, padding, aligned, sx[0], order[0]) *\nsample_factor(g1, mode, padding, aligned, sx[1], order[1]) *\n"
    "sample_factor(g2, mode, padding, aligned, sx[2], order[2]));\n}\n\n\n"
    "kernel grid_sample_grad(index item, in T dy[], in real grid[], out T dx[], index mode, index padding, index aligned,\n"
    "index axes, index channels, uniform index sx[3], uniform index sy[3], uniform index order[3])\n{\nindex points = sy[0] * sy[1] * sy[2], size = sx[0] * sx[1] * sx[2];\n"
    "index taps = mode == 0 ? 1 : mode == 1 ? 2 : 4, n0 = axes > 2 ? taps : 1, n1 = axes > 1 ? taps : 1;\nfor (index i = 0; i < size; i++) dx[item * size + i] = 0;\n"
    "for (index p = 0; p < points; p++) {\nindex g = (item / channels * points + p) * axes;\n"
    "real g0 = axes > 2 ? grid[g + 2] : 0.0, g1 = axes > 1 ? grid[g + 1] : 0.0, g2 = grid[g];\nreal a0 = axes > 2 ? sample_place(g0, mode, padding, aligned, sx[0]) : 0.0;\n"
    "real a1 = axes > 1 ? sample_place(g1, mode, padding, aligned, sx[1]) : 0.0;\nreal a2 = sample_place(g2, mode, padding, aligned, sx[2]);\n"
    "index f0 = axes > 2 ? sample_first(a0, mode) : 0, f1 = axes > 1 ? sample_first(a1, mode) : 0;\nindex f2 = sample_first(a2, mode);\n"
    "real value = (real)dy[item * points + p] * sample_factor(g0, mode, padding, aligned, sx[0], order[0]) *\nsample_factor(g1, mode, padding, aligned, sx[1], order[1]) *\n"
    "sample_factor(g2, mode, padding, aligned, sx[2], order[2]);\nfor (index k0 = 0; k0 < n0; k0++) {\n"
    "index i0 = axes > 2 ? sample_position(f0 + k0, mode, padding, aligned, sx[0]) : 0;\nreal w0 = axes > 2 ? value * neighbour_weight(mode, a0 - floor(a0), k0, order[0]) : value;\n"
    "if (i0 < 0) continue;\nfor (index k1 = 0; k1 < n1; k1++) {\nindex i1 = axes > 1 ? sample_position(f1 + k1, mode, padding, aligned, sx[1]) : 0;\n"
    "real w1 = axes > 1 ? w0 * neighbour_weight(mode, a1 - floor(a1), k1, order[1]) : w0;\nif (i1 < 0) continue;\nfor (index k2 = 0; k2 < taps; k2++) {\n"
    "index i2 = sample_position(f2 + k2, mode, padding, aligned, sx[2]);\nif (i2 < 0) continue;\ndx[((item * sx[0] + i0) * sx[1] + i1) * sx[2] + i2] +=\n"
    "(T)(w1 * neighbour_weight(mode, a2 - floor(a2), k2, order[2]));\n}\n}\n}\n}\n}\n\n\n\n"
    "kernel grid_sample_taps(index item, in real grid[], out index positions[], out real weights[], index mode, index padding,\n"
    "index aligned, index axes, index base, index width, uniform index sx[3], uniform index order[3])\n{\nindex taps = mode == 0 ? 1 : mode == 1 ? 2 : 4;\n"
    "for (index k = 0; k < width; k++) {\nindex rest = k, position = 0, scale = 1;\nreal weight = 1.0;\nfor (index a = 0; a < axes; a++) {\nindex axis = 2 - a, size = sx[axis];\n"
    "real g = grid[item * axes + a], at = sample_place(g, mode, padding, aligned, size);\n"
    "index i = sample_position(sample_first(at, mode) + rest % taps, mode, padding, aligned, size);\nweight *= neighbour_weight(mode, at - floor(at), rest % taps, order[axis]) *\n"
    "sample_factor(g, mode, padding, aligned, size, order[axis]);\nweight += sample_spoiled(g, mode, padding, order[axis]);\n"
    "position = i < 0 || position < 0 ? -1 : position + i * scale;\nscale *= size;\nrest /= taps;\n}\npositions[(item - base) * width + k] = position;\n"
    "weights[(item - base) * width + k] = weight;\n}\n}\n";

static const char window_text[] =
    "\n\n\n\nfunction index adaptive_begin(index o, index in_size, index out_size) { return o * in_size / out_size; }\n"
    "function index adaptive_end(index o, index in_size, index out_size)\n{\nreturn ((o + 1) * in_size + out_size - 1) / out_size;\n}\n\n\n\n"
    "kernel max_pool(index item, in T x[], out T y[], out index at[], uniform index sx[3], uniform index sy[3],\n"
    "uniform index window[3], uniform index stride[3], uniform index padding[3], uniform index dilation[3])\n{\n"
    "index o2 = item % sy[2], o1 = item / sy[2] % sy[1], o0 = item / sy[2] / sy[1] % sy[0];\nindex plane = item / sy[2] / sy[1] / sy[0] * sx[0] * sx[1] * sx[2];\nindex best = -1;\n"
    "T most = 0;\nfor (index k0 = 0; k0 < window[0]; k0++) {\nindex i0 = o0 * stride[0] - padding[0] + k0 * dilation[0];\nif (i0 < 0 || i0 >= sx[0]) continue;\n"
    "for (index k1 = 0; k1 < window[1]; k1++) {\nindex i1 = o1 * stride[1] - padding[1] + k1 * dilation[1];\nif (i1 < 0 || i1 >= sx[1]) continue;\n"
    "for (index k2 = 0; k2 < window[2]; k2++) {\nindex i2 = o2 * stride[2] - padding[2] + k2 * dilation[2];\nif (i2 < 0 || i2 >= sx[2]) continue;\n"
    "index p = (i0 * sx[1] + i1) * sx[2] + i2;\nT v = x[plane + p];\nif (best < 0 || v > most || is_nan(v)) {\nbest = p;\nmost = v;\n}\n}\n}\n}\ny[item] = most;\nat[item] = best;\n"
    "}\n\n\nkernel max_pool_values(index item, in T x[], out T y[], uniform index sx[3], uniform index sy[3],\n"
    "uniform index window[3], uniform index stride[3], uniform index padding[3], uniform index dilation[3])\n{\n"
    "index o2 = item % sy[2], o1 = item / sy[2] % sy[1], o0 = item / sy[2] / sy[1] % sy[0];\nindex plane = item / sy[2] / sy[1] / sy[0] * sx[0] * sx[1] * sx[2];\nindex found = 0;\n"
    "T most = 0;\nfor (index k0 = 0; k0 < window[0]; k0++) {\nindex i0 = o0 * stride[0] - padding[0] + k0 * dilation[0];\nif (i0 < 0 || i0 >= sx[0]) continue;\n"
    "for (index k1 = 0; k1 < window[1]; k1++) {\nindex i1 = o1 * stride[1] - padding[1] + k1 * dilation[1];\nif (i1 < 0 || i1 >= sx[1]) continue;\n"
    "for (index k2 = 0; k2 < window[2]; k2++) {\nindex i2 = o2 * stride[2] - padding[2] + k2 * dilation[2];\nif (i2 < 0 || i2 >= sx[2]) continue;\n"
    "T v = x[plane + (i0 * sx[1] + i1) * sx[2] + i2];\nif (!found || v > most || is_nan(v)) {\nfound = 1;\nmost = v;\n}\n}\n}\n}\ny[item] = most;\n}\n\n\n\n"
    "kernel avg_pool(index item, in T x[], out T y[], uniform index sx[3], uniform index sy[3], uniform index window[3],\n"
    "uniform index stride[3], uniform index padding[3], uniform index end[3], index counted, index divisor)\n{\n"
    "index o2 = item % sy[2], o1 = item / sy[2] % sy[1], o0 = item / sy[2] / sy[1] % sy[0];\nindex plane = item / sy[2] / sy[1] / sy[0] * sx[0] * sx[1] * sx[2];\n"
    "index b0 = o0 * stride[0] - padding[0], b1 = o1 * stride[1] - padding[1], b2 = o2 * stride[2] - padding[2];\n"
    "index e0 = b0 + window[0], e1 = b1 + window[1], e2 = b2 + window[2];\nif (e0 > sx[0] + end[0]) e0 = sx[0] + end[0];\nif (e1 > sx[1] + end[1]) e1 = sx[1] + end[1];\n"
    "if (e2 > sx[2] + end[2]) e2 = sx[2] + end[2];\nindex n = (e0 - b0) * (e1 - b1) * (e2 - b2);\nif (b0 < 0) b0 = 0;\nif (b1 < 0) b1 = 0;\nif (b2 < 0) b2 = 0;\n"
    "if (e0 > sx[0]) e0 = sx[0];\nif (e1 > sx[1]) e1 = sx[1];\nif (e2 > sx[2]) e2 = sx[2];\nif (!counted) n = (e0 - b0) * (e1 - b1) * (e2 - b2);\nif (divisor > 0) n = divisor;\n"
    "T total = 0;\nfor (index i0 = b0; i0 < e0; i0++)\nfor (index i1 = b1; i1 < e1; i1++)\nfor (index i2 = b2; i2 < e2; i2++) total += x[plane + (i0 * sx[1] + i1) * sx[2] + i2];\n"
    "y[item] = total / (T)n;\n}\n\n\nkernel avg_pool_grad(index item, in T dy[], out T dx[], uniform index sx[3], uniform index sy[3], uniform index window[3],\n"
    "uniform index stride[3], uniform index padding[3], uniform index end[3], index counted, index divisor)\n{\n"
    "index i2 = item % sx[2], i1 = item / sx[2] % sx[1], i0 = item / sx[2] / sx[1] % sx[0];\nindex plane = item / sx[2] / sx[1] / sx[0] * sy[0] * sy[1] * sy[2];\nT total = 0;\n"
    "index f0 = i0 + padding[0] - window[0] + 1, f1 = i1 + padding[1] - window[1] + 1, f2 = i2 + padding[2] - window[2] + 1;\nf0 = f0 > 0 ? (f0 + stride[0] - 1) / stride[0] : 0;\n"
    "f1 = f1 > 0 ? (f1 + stride[1] - 1) / stride[1] : 0;\nf2 = f2 > 0 ? (f2 + stride[2] - 1) / stride[2] : 0;\n"
    "for (index o0 = f0; o0 < sy[0] && o0 * stride[0] - padding[0] <= i0; o0++)\nfor (index o1 = f1; o1 < sy[1] && o1 * stride[1] - padding[1] <= i1; o1++)\n"
    "for (index o2 = f2; o2 < sy[2] && o2 * stride[2] - padding[2] <= i2; o2++) {\n"
    "index b0 = o0 * stride[0] - padding[0], b1 = o1 * stride[1] - padding[1], b2 = o2 * stride[2] - padding[2];\n"
    "index e0 = b0 + window[0], e1 = b1 + window[1], e2 = b2 + window[2];\nif (e0 > sx[0] + end[0]) e0 = sx[0] + end[0];\nif (e1 > sx[1] + end[1]) e1 = sx[1] + end[1];\n"
    "if (e2 > sx[2] + end[2]) e2 = sx[2] + end[2];\nindex n = (e0 - b0) * (e1 - b1) * (e2 - b2);\nif (!counted) {\nindex c0 = (e0 > sx[0] ? sx[0] : e0) - (b0 < 0 ? 0 : b0);\n"
    "index c1 = (e1 > sx[1] ? sx[1] : e1) - (b1 < 0 ? 0 : b1);\nindex c2 = (e2 > sx[2] ? sx[2] : e2) - (b2 < 0 ? 0 : b2);\nn = c0 * c1 * c2;\n}\nif (divisor > 0) n = divisor;\n"
    "total += dy[plane + (o0 * sy[1] + o1) * sy[2] + o2] / (T)n;\n}\ndx[item] = total;\n}\n\n\n"
    "kernel adaptive_avg_pool(index item, in T x[], out T y[], uniform index sx[3], uniform index sy[3])\n{\n"
    "index o2 = item % sy[2], o1 = item / sy[2] % sy[1], o0 = item / sy[2] / sy[1] % sy[0];\nindex plane = item / sy[2] / sy[1] / sy[0] * sx[0] * sx[1] * sx[2];\n"
    "index b0 = adaptive_begin(o0, sx[0], sy[0]), e0 = adaptive_end(o0, sx[0], sy[0]);\nindex b1 = adaptive_begin(o1, sx[1], sy[1]), e1 = adaptive_end(o1, sx[1], sy[1]);\n"
    "index b2 = adaptive_begin(o2, sx[2], sy[2]), e2 = adaptive_end(o2, sx[2], sy[2]);\nT total = 0;\nfor (index i0 = b0; i0 < e0; i0++)\nfor (index i1 = b1; i1 < e1; i1++)\n"
    "for (index i2 = b2; i2 < e2; i2++) total += x[plane + (i0 * sx[1] + i1) * sx[2] + i2];\ny[item] = total / (T)((e0 - b0) * (e1 - b1) * (e2 - b2));\n}\n\n\n"
    "kernel adaptive_avg_pool_grad(index item, in T dy[], out T dx[], uniform index sx[3], uniform index sy[3])\n{\n"
    "index i2 = item % sx[2], i1 = item / sx[2] % sx[1], i0 = item / sx[2] / sx[1] % sx[0];\nindex plane = item / sx[2] / sx[1] / sx[0] * sy[0] * sy[1] * sy[2];\nT total = 0;\n"
    "for (index o0 = i0 * sy[0] / sx[0]; o0 < sy[0] && adaptive_begin(o0, sx[0], sy[0]) <= i0; o0++)\n"
    "for (index o1 = i1 * sy[1] / sx[1]; o1 < sy[1] && adaptive_begin(o1, sx[1], sy[1]) <= i1; o1++)\n"
    "for (index o2 = i2 * sy[2] / sx[2]; o2 < sy[2] && adaptive_begin(o2, sx[2], sy[2]) <= i2; o2++) {\n"
    "index n = (adaptive_end(o0, sx[0], sy[0]) - adaptive_begin(o0, sx[0], sy[0])) *\n(adaptive_end(o1, sx[1], sy[1]) - adaptive_begin(o1, sx[1], sy[1])) *\n"
    "(adaptive_end(o2, sx[2], sy[2]) - adaptive_begin(o2, sx[2], sy[2]));\ntotal += dy[plane + (o0 * sy[1] + o1) * sy[2] + o2] / (T)n;\n}\ndx[item] = total;\n}\n\n\n"
    "kernel adaptive_max_pool(index item, in T x[], out T y[], out index at[], uniform index sx[3], uniform index sy[3])\n{\n"
    "index o2 = item % sy[2], o1 = item / sy[2] % sy[1], o0 = item / sy[2] / sy[1] % sy[0];\nindex plane = item / sy[2] / sy[1] / sy[0] * sx[0] * sx[1] * sx[2];\nindex best = -1;\n"
    "T most = 0;\nfor (index i0 = adaptive_begin(o0, sx[0], sy[0]); i0 < adaptive_end(o0, sx[0], sy[0]); i0++)\n"
    "for (index i1 = adaptive_begin(o1, sx[1], sy[1]); i1 < adaptive_end(o1, sx[1], sy[1]); i1++)\n"
    "for (index i2 = adaptive_begin(o2, sx[2], sy[2]); i2 < adaptive_end(o2, sx[2], sy[2]); i2++) {\nindex p = (i0 * sx[1] + i1) * sx[2] + i2;\nT v = x[plane + p];\n"
    "if (best < 0 || v > most || is_nan(v)) {\nbest = p;\nmost = v;\n}\n}\ny[item] = most;\nat[item] = best;\n}\n\n\n"
    "kernel unfold4d(index item, in T x[], out T columns[], uniform index sx[2], uniform index sy[2],\n"
    "uniform index window[2], uniform index stride[2], uniform index padding[2], uniform index dilation[2])\n{\nindex blocks = sy[0] * sy[1], l = item % blocks, r = item / blocks;\n"
    "index k1 = r % window[1], k0 = r / window[1] % window[0], plane = r / window[1] / window[0];\nindex i0 = l / sy[1] * stride[0] - padding[0] + k0 * dilation[0];\n"
    "index i1 = l % sy[1] * stride[1] - padding[1] + k1 * dilation[1];\nT v = 0;\nif (i0 >= 0 && i0 < sx[0] && i1 >= 0 && i1 < sx[1]) v = x[(plane * sx[0] + i0) * sx[1] + i1];\n"
    "columns[item] = v;\n}\n\n\nkernel fold4d(index item, in T columns[], out T y[], uniform index sx[2], uniform index sy[2],\n"
    "uniform index window[2], uniform index stride[2], uniform index padding[2], uniform index dilation[2])\n{\n"
    "index i1 = item % sx[1], i0 = item / sx[1] % sx[0], plane = item / sx[1] / sx[0];\nindex blocks = sy[0] * sy[1];\nT total = 0;\nfor (index k0 = 0; k0 < window[0]; k0++) {\n"
    "index p0 = i0 + padding[0] - k0 * dilation[0];\nif (p0 < 0 || p0 % stride[0] != 0 || p0 / stride[0] >= sy[0]) continue;\nfor (index k1 = 0; k1 < window[1]; k1++) {\n"
    "index p1 = i1 + padding[1] - k1 * dilation[1];\nif (p1 < 0 || p1 % stride[1] != 0 || p1 / stride[1] >= sy[1]) continue;\n"
    "index row = (plane * window[0] + k0) * window[1] + k1;\ntotal += columns[row * blocks + p0 / stride[0] * sy[1] + p1 / stride[1]];\n}\n}\ny[item] = total;\n}\n";

static const struct {
    const char *kernel, *text, *file;
    size_t bytes;
} texts[] = {
    {"adaptive_avg_pool", window_text, "window.kn", sizeof window_text - 1},
    {"adaptive_avg_pool_grad", window_text, "window.kn", sizeof window_text - 1},
    {"adaptive_max_pool", window_text, "window.kn", sizeof window_text - 1},
    {"attention", attention_text, "attention.kn", sizeof attention_text - 1},
    {"avg_pool", window_text, "window.kn", sizeof window_text - 1},
    {"avg_pool_grad", window_text, "window.kn", sizeof window_text - 1},
    {"categorical", random_text, "random.kn", sizeof random_text - 1},
    {"cholesky", linalg_text, "linalg.kn", sizeof linalg_text - 1},
    {"cofactor", linalg_text, "linalg.kn", sizeof linalg_text - 1},
    {"conv", convolution_text, "convolution.kn", sizeof convolution_text - 1},
    {"conv_integer", integer_text, "integer.kn", sizeof integer_text - 1},
    {"conv_transpose", convolution_text, "convolution.kn", sizeof convolution_text - 1},
    {"conv_weight_grad", convolution_text, "convolution.kn", sizeof convolution_text - 1},
    {"count_bins", sorting_text, "sorting.kn", sizeof sorting_text - 1},
    {"ctc_loss", loss_text, "loss.kn", sizeof loss_text - 1},
    {"ctc_loss_grad", loss_text, "loss.kn", sizeof loss_text - 1},
    {"deform_sample", convolution_text, "convolution.kn", sizeof convolution_text - 1},
    {"deform_sample_grad", convolution_text, "convolution.kn", sizeof convolution_text - 1},
    {"det", linalg_text, "linalg.kn", sizeof linalg_text - 1},
    {"eigh", linalg_text, "linalg.kn", sizeof linalg_text - 1},
    {"elementwise_copy", elementwise_text, "elementwise.kn", sizeof elementwise_text - 1},
    {"embedding", normalise_text, "normalise.kn", sizeof normalise_text - 1},
    {"embedding_grad", normalise_text, "normalise.kn", sizeof normalise_text - 1},
    {"fft", signal_text, "signal.kn", sizeof signal_text - 1},
    {"fold4d", window_text, "window.kn", sizeof window_text - 1},
    {"gather", indexing_text, "indexing.kn", sizeof indexing_text - 1},
    {"gather_nd", indexing_text, "indexing.kn", sizeof indexing_text - 1},
    {"grid_sample", spatial_text, "spatial.kn", sizeof spatial_text - 1},
    {"grid_sample_grad", spatial_text, "spatial.kn", sizeof spatial_text - 1},
    {"grid_sample_taps", spatial_text, "spatial.kn", sizeof spatial_text - 1},
    {"gru", recurrent_text, "recurrent.kn", sizeof recurrent_text - 1},
    {"interpolate", spatial_text, "spatial.kn", sizeof spatial_text - 1},
    {"interpolate_grad", spatial_text, "spatial.kn", sizeof spatial_text - 1},
    {"interpolate_taps", spatial_text, "spatial.kn", sizeof spatial_text - 1},
    {"linear", contraction_text, "contraction.kn", sizeof contraction_text - 1},
    {"lstm", recurrent_text, "recurrent.kn", sizeof recurrent_text - 1},
    {"lu", linalg_text, "linalg.kn", sizeof linalg_text - 1},
    {"matmul", contraction_text, "contraction.kn", sizeof contraction_text - 1},
    {"matmul_integer", integer_text, "integer.kn", sizeof integer_text - 1},
    {"max_pool", window_text, "window.kn", sizeof window_text - 1},
    {"max_pool_values", window_text, "window.kn", sizeof window_text - 1},
    {"nonzero", indexing_text, "indexing.kn", sizeof indexing_text - 1},
    {"pad", movement_text, "movement.kn", sizeof movement_text - 1},
    {"pad_grad", movement_text, "movement.kn", sizeof movement_text - 1},
    {"qr", linalg_text, "linalg.kn", sizeof linalg_text - 1},
    {"rnn", recurrent_text, "recurrent.kn", sizeof recurrent_text - 1},
    {"rope", normalise_text, "normalise.kn", sizeof normalise_text - 1},
    {"scan_linear", scan_text, "scan.kn", sizeof scan_text - 1},
    {"scan_logsumexp", scan_text, "scan.kn", sizeof scan_text - 1},
    {"scan_max", scan_text, "scan.kn", sizeof scan_text - 1},
    {"scan_min", scan_text, "scan.kn", sizeof scan_text - 1},
    {"scan_prod", scan_text, "scan.kn", sizeof scan_text - 1},
    {"scan_sum", scan_text, "scan.kn", sizeof scan_text - 1},
    {"scatter", indexing_text, "indexing.kn", sizeof indexing_text - 1},
    {"scatter_nd", indexing_text, "indexing.kn", sizeof indexing_text - 1},
    {"search_sorted", sorting_text, "sorting.kn", sizeof sorting_text - 1},
    {"select_assign", indexing_text, "indexing.kn", sizeof indexing_text - 1},
    {"sort_lines", sorting_text, "sorting.kn", sizeof sorting_text - 1},
    {"sort_pick", sorting_text, "sorting.kn", sizeof sorting_text - 1},
    {"svd", linalg_text, "linalg.kn", sizeof linalg_text - 1},
    {"take", indexing_text, "indexing.kn", sizeof indexing_text - 1},
    {"triangular_solve", linalg_text, "linalg.kn", sizeof linalg_text - 1},
    {"unfold4d", window_text, "window.kn", sizeof window_text - 1},
    {"unique_all", sorting_text, "sorting.kn", sizeof sorting_text - 1},
    {"update_slice", movement_text, "movement.kn", sizeof movement_text - 1},
    {"weigh_bins", sorting_text, "sorting.kn", sizeof sorting_text - 1},
    {"window_grad", movement_text, "movement.kn", sizeof movement_text - 1},
};

const char *kni_kernel_text(const char *kernel_name, size_t *bytes, const char **file)
{
    for (size_t low = 0, high = sizeof texts / sizeof *texts; low < high;) {
        size_t middle = (low + high) / 2;
        int order = strcmp(kernel_name, texts[middle].kernel);
        if (order == 0) {
            *bytes = texts[middle].bytes;
            *file = texts[middle].file;
            return texts[middle].text;
        }
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

const char *kni_kernel_text_name(int number)
{
    return number >= 0 && number < (int)(sizeof texts / sizeof *texts) ? texts[number].kernel : NULL;
}
