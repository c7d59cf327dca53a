/* Ctrl-C while a learner runs. The first signal asks it to finish the step, save and leave; the second does what it did before
   the learner caught it, which usually ends the process. */
#define _POSIX_C_SOURCE 200809L
#include "support/failure.h"
#include "train/learner_object.h"

void kni_learner_interrupt(kni_learner *l)
{
    int none = 0;
    atomic_compare_exchange_strong(&l->stop, &none, KNI_STOP_AFTER_STEP);
}

static void interrupt(void *object) { kni_learner_interrupt(object); }

/* A signal handler may call this: with a good handle only atomics run. */
void kn_learner_interrupt(kn_learner learner)
{
    if (kni_object_signal(learner, &kni_kind_learner, interrupt)) return;
    KNI_USE(learner, l, learner); /* tells what is wrong with the handle */
    (void)l;
}

#ifdef __wasi__
kn_status kni_interrupts_catch(kni_learner *l)
{
    (void)l;
    return kni_failure(KN_ERROR_UNSUPPORTED, "kn_learner_fit: this system has no signals to catch");
}

void kni_interrupts_release(kni_learner *l) { (void)l; }
#else
#include <signal.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM};
enum { CAUGHT = sizeof caught / sizeof *caught };
static struct sigaction before[CAUGHT];
static _Atomic(kni_learner *) catching;

static void restore(void)
{
    for (int i = 0; i < CAUGHT; i++) sigaction(caught[i], &before[i], NULL);
}

/* Only what is allowed in a signal handler: atomics, sigaction and kill. */
static void on_signal(int number)
{
    kni_learner *l = atomic_load(&catching);
    if (l && atomic_load(&l->stop) == 0) {
        kni_learner_interrupt(l);
        return;
    }
    restore();
    kill(getpid(), number);
}

kn_status kni_interrupts_catch(kni_learner *l)
{
    kni_learner *none = NULL;
    if (!atomic_compare_exchange_strong(&catching, &none, l))
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_learner_fit: another learner of this process catches interrupts already");
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < CAUGHT; i++) {
        sigaction(caught[i], NULL, &before[i]);
        /* A signal that the process ignores (nohup, a shell's background job) stays ignored. */
        if (before[i].sa_handler != SIG_IGN) sigaction(caught[i], &action, NULL);
    }
    return KN_OK;
}

void kni_interrupts_release(kni_learner *l)
{
    if (atomic_load(&catching) != l) return;
    restore();
    atomic_store(&catching, NULL);
}
#endif
