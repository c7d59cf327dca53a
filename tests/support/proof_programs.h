/* Programs that prove what programs can do: an MLP, a CNN with batch norm, a transformer block with a symbolic length, an LSTM as a loop, one
   with an If, one with functions and a loop that a condition ends, layers that are alike, and attention of products whose axes may all have
   one element. Each is there twice over the same weights: built op by op, and as layers and ops that run at once, which are what runs, files
   and printed C are compared with, and what is traced. */
#ifndef PROOF_PROGRAMS_H
#define PROOF_PROGRAMS_H

#include <kn.h>
#include <kn/nn.h>
#include <kn/program.h>

enum { PROOF_SIZES = 3, PROOF_INPUTS = 4, PROOF_OUTPUTS = 9, PROOF_RUNS = 6 };

/* The layers of all of them; those that one does not have stay zero, which is a layer without weights. */
typedef struct proof_net {
    kn_nn_linear first, second;
    kn_nn_conv2d conv;
    kn_nn_batch_norm norm;
    kn_nn_embedding tokens;
    kn_nn_transformer_encoder_layer block;
    kn_nn_lstm lstm;
} proof_net;
extern const kn_module_type proof_net_type;

/* What it is run with: sizes in the order in which the inputs name them, and what is added to the inputs. */
typedef struct proof_run {
    int64_t sizes[PROOF_SIZES];
    float shift;
} proof_run;

/* The ops at once: outputs from inputs, which are kept. */
typedef kn_status (*proof_eager_fn)(const proof_net *net, const kn_tensor *in, kn_tensor *out);

typedef struct proof_program {
    const char *name;
    kn_dtype dtype; /* of weights and activations */
    kn_status (*init)(proof_net *net, kn_dtype dtype);
    kn_program (*build)(const proof_net *net, kn_dtype dtype);
    proof_eager_fn eager;
    int n_out;
    proof_run runs[PROOF_RUNS];
    int n_runs;
    bool traced;      /* the branch taken is the program: not for those whose path depends on values */
    bool traced_once; /* a trace of it runs with the sizes it was made with alone */
} proof_program;

/* NULL behind the last. The first are printed as C as well. */
const proof_program *proof_program_at(int number);
/* The weights: the same in every process. */
kn_status proof_init(const proof_program *e, proof_net *net);
/* An input of a program that was built, for a run: the same in every process, and kept. */
kn_tensor proof_input(kn_program p, int input, const proof_run *run);

#endif
