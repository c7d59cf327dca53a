/* What a HIP text of Kiln's calls, for the host's C++ compiler: one invocation at a time runs, as a fibre that stops at barriers and where
   lanes exchange words (fake_hip_run.c). Included before the text. */
struct hip_host {
    unsigned group[3], groups[3], size, item, wave;
    void (*barrier)(void);
    int (*permute)(int address, int value);
    float (*root)(float);
    double (*root_64)(double);
    unsigned short (*to_half)(float);
    float (*from_half)(unsigned short);
};
extern "C" {
hip_host *hip_host_now;
float __ocml_sqrt_f32(float x) { return hip_host_now->root(x); }
double __ocml_sqrt_f64(double x) { return hip_host_now->root_64(x); }
}

#define __builtin_amdgcn_workgroup_id_x() hip_host_now->group[0]
#define __builtin_amdgcn_workgroup_id_y() hip_host_now->group[1]
#define __builtin_amdgcn_workgroup_id_z() hip_host_now->group[2]
#define __builtin_amdgcn_workgroup_size_x() ((unsigned short)hip_host_now->size)
#define __builtin_amdgcn_workgroup_size_y() ((unsigned short)1)
#define __builtin_amdgcn_workgroup_size_z() ((unsigned short)1)
#define __builtin_amdgcn_workitem_id_x() hip_host_now->item
#define __builtin_amdgcn_grid_size_x() (hip_host_now->groups[0] * hip_host_now->size)
#define __builtin_amdgcn_grid_size_y() hip_host_now->groups[1]
#define __builtin_amdgcn_grid_size_z() hip_host_now->groups[2]
#define __builtin_amdgcn_mbcnt_lo(mask, more) 0u
#define __builtin_amdgcn_mbcnt_hi(mask, more) (hip_host_now->item % hip_host_now->wave)
#define __builtin_amdgcn_ds_bpermute(address, value) hip_host_now->permute(address, value)
#define __builtin_amdgcn_fence(order, scope) (void)0
#define __builtin_amdgcn_s_barrier() hip_host_now->barrier()
#define __builtin_amdgcn_rcpf(x) (1.0f / (x))

/* No other invocation runs meanwhile. */
#define __HIP_MEMORY_SCOPE_AGENT 0
template <class T, class V, class F> T hip_host_change(T *word, V value, F change)
{
    T old = *word;
    *word = change(old, (T)value);
    return old;
}
#define HIP_HOST_CHANGE(word, value, made)                                                                   \
    hip_host_change(word, value, [](auto a, auto b) { return (decltype(a))(made); })
#define __hip_atomic_fetch_add(word, value, order, scope) HIP_HOST_CHANGE(word, value, a + b)
#define __hip_atomic_fetch_min(word, value, order, scope) HIP_HOST_CHANGE(word, value, b < a ? b : a)
#define __hip_atomic_fetch_max(word, value, order, scope) HIP_HOST_CHANGE(word, value, b > a ? b : a)
#define __hip_atomic_exchange(word, value, order, scope) HIP_HOST_CHANGE(word, value, b)
#define __hip_atomic_load(word, order, scope) (*(word))
template <class T, class V> bool hip_host_compare(volatile T *word, V *seen, V next)
{
    bool same = *word == *seen;
    if (same)
        *word = next;
    else
        *seen = *word;
    return same;
}
#define __hip_atomic_compare_exchange_strong(word, seen, next, order, other, scope)                          \
    hip_host_compare(word, seen, next)

struct hip_host_half {
    unsigned short bits;
    hip_host_half() = default;
    explicit hip_host_half(float x) : bits(hip_host_now->to_half(x)) {}
    explicit operator float() const { return hip_host_now->from_half(bits); }
};
#define _Float16 hip_host_half

/* Calls an entry with what the pointers point to. */
template <int...> struct hip_host_numbers {
};
template <int N, int... I> struct hip_host_count : hip_host_count<N - 1, N - 1, I...> {
};
template <int... I> struct hip_host_count<0, I...> {
    typedef hip_host_numbers<I...> type;
};
template <class... A, int... I>
void hip_host_call(void (*entry)(A...), void **arguments, hip_host_numbers<I...>)
{
    entry(*(A *)arguments[I]...);
}
template <class... A> void hip_host_call(void (*entry)(A...), void **arguments)
{
    hip_host_call(entry, arguments, typename hip_host_count<sizeof...(A)>::type());
}

/* Copies of what the pointers point to; never freed, since a recording may be replayed for as long as there is one. */
template <class... A, int... I> void **hip_host_copy(void (*)(A...), void **arguments, hip_host_numbers<I...>)
{
    return new void *[sizeof...(A) + 1] { (void *)new A(*(A *)arguments[I])..., nullptr };
}
template <class... A> void **hip_host_copy(void (*entry)(A...), void **arguments)
{
    return hip_host_copy(entry, arguments, typename hip_host_count<sizeof...(A)>::type());
}
