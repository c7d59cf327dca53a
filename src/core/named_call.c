/* Naming what ops are called for. */
#include "core/named_call.h"
#include "core/call_site.h"
#include "core/thread_state.h"
#include <string.h>

kni_named_call kni_named_call_enter(const char *function)
{
    kni_thread *t = kni_thread_self();
    kni_named_call before = {t->context.call_name, t->context.call_device};
    kni_call_counts(t);
    if (!before.name) {
        t->context.call_name = function + strlen("kn_");
        t->context.call_device = NULL;
    }
    return before;
}

void kni_named_call_leave(kni_named_call *before)
{
    kni_thread *t = kni_thread_self();
    t->context.call_name = before->name;
    t->context.call_device = before->device;
    if (!before->name) kni_call_ended(t);
}
