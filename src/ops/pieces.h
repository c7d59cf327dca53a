/* Rows whose result is a piece of operand 0, so that their gradient is dy put back in its place, in zeros. A tape keeps such
   cotangents and joins them, where each would else be put into zeros of the whole size and added. The column is a P in
   the .def files; only autodiff links it. */
#ifndef KNI_OPS_PIECES_H
#define KNI_OPS_PIECES_H

#include "ops/op.h"

typedef struct kni_piece {
    bool rows; /* rows of a table, at the indices of operand 1; else a slice */
    int axis;  /* the one that a slice cuts, by steps of 1; -1: none */
    int64_t start, size;
} kni_piece;

/* PIECE(slice) { ... } defines the entry of a row: false where this record's gradient is something else. */
#define PIECE(op_name)                                                                                       \
    bool kni_piece_##op_name(const kni_type *whole, const kni_type *part, const void *attributes,            \
                             kni_piece *piece)
#define KN_OP(number, name, ...) PIECE(name);
#include "ops/ops.def"
#undef KN_OP

/* The entry of the row, false where it has none. */
bool kni_piece_of(const kn_op *row, const kni_type *whole, const kni_type *part, const void *attributes,
                  kni_piece *piece);

/* Zeros of the type with dy in the place of the slice, or added to the rows that the indices name. */
kn_tensor kni_put_slice(const kni_piece *piece, const kni_type *whole, kn_tensor dy);
kn_tensor kni_put_rows(const kni_type *whole, kn_tensor dy, kn_tensor indices);

#endif
