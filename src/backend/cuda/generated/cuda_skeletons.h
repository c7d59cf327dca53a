/* Made by tools/gen/cuda_skeletons.py from src/backend/cuda/skeleton; do not edit. */
#ifndef KNI_CUDA_SKELETONS_H
#define KNI_CUDA_SKELETONS_H

extern const char *const kni_cuda_skeleton_attention[]; /* pieces, the last one NULL */
extern const char *const kni_cuda_skeleton_attention_grad[]; /* pieces, the last one NULL */
extern const char *const kni_cuda_skeleton_attention_rows[]; /* pieces, the last one NULL */
extern const char *const kni_cuda_skeleton_attention_terms[]; /* pieces, the last one NULL */
extern const char *const kni_cuda_skeleton_gemm[]; /* pieces, the last one NULL */
extern const char *const kni_cuda_skeleton_hopper[]; /* pieces, the last one NULL */

#endif
