// Kernels to begin with.

export const EXAMPLES = {
  'scale': `/* y = by x */
kernel scale(index item, in T x[], out T y[], real by)
{
    y[item] = x[item] * by;
}
`,
  'softsign': `/* y = x / (1 + |x|) */
kernel softsign(index item, in T x[], out T y[])
{
    y[item] = x[item] / (1 + abs(x[item]));
}
`,
  'running sum': `/* y[i] = x[0] + ... + x[i], in pieces of \`length\` elements: one item for each.
   Items: elements / length. */
kernel running_sum(index item, in T x[], out T y[], index length)
{
    T total = 0;
    for (index i = item * length; i < (item + 1) * length; i++) {
        total += x[i];
        y[i] = total;
    }
}
`,
  'sum by groups': `/* Each workgroup of 64 invocations sums 64 elements. Items: elements / 64. */
kernel group_sum(workgroup 64, in T x[], inout T sums[])
{
    T total = workgroup_sum(x[group_id() * 64 + local_id()]);
    if (local_id() == 0) sums[group_id()] = total;
}
`,
  'histogram': `/* hits[v] counts the elements that fall into part v of the range from 0 to 1. Items: elements. */
kernel histogram(index item, in T x[], inout i32 hits[], index bins)
{
    index bin = (index)(x[item] * bins);
    if (bin >= 0 && bin < bins) atomic_add(hits, bin, 1);
}
`,
};
