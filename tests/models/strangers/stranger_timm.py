"""timm's families, from random weights and small images."""

from stranger_export import case, R, B
import timm


def family(name, size=64, alt=True, **settings):
    def make():
        return timm.create_model(name, pretrained=False, num_classes=7, **settings).eval(), (R(1, 3, size, size),)

    other = (lambda: (R(2, 3, size, size),)) if alt else None
    case("timm_" + name, make, dyn=(B,) if alt else None, alt=other, ts=1, dynamo=1, least=11, seconds=200)


for name in """
test_vit test_resnet test_efficientnet test_byobnet test_convnext test_convnext2 test_convnext3 test_mambaout test_nfnet
test_vit2 test_vit3 test_vit4 test_efficientnet_gn test_efficientnet_ln test_efficientnet_evos mobilevit_xxs
mobilevitv2_050 mobilenetv4_conv_small mobilenetv4_hybrid_medium ghostnet_050 ghostnetv2_100 lcnet_050 tinynet_e
hardcorenas_a fbnetv3_b semnasnet_075 spnasnet_100 poolformer_s12 davit_tiny focalnet_tiny_srf edgenext_xx_small
efficientformer_l1 efficientformerv2_s0 efficientvit_b0 fastvit_t8 repvit_m0_9 repvgg_a0 repghostnet_050
inception_next_atto starnet_s1 rdnet_tiny hgnetv2_b0 nextvit_small pvt_v2_b0 mambaout_femto halonet26t eca_halonext26ts
bat_resnext26ts gcresnet33ts resnetaa50 resnetblur50 ecaresnet26t seresnext26d_32x4d skresnet18 resnest14d
res2net50_14w_8s selecsls42b dla34 hrnet_w18_small ese_vovnet19b_dw cspresnet50 dm_nfnet_f0 nf_regnet_b0 nf_resnet26
eca_nfnet_l0 resnetv2_50 resnetv2_18d dpn48b xception41 legacy_xception mixnet_s tf_mixnet_s tf_efficientnet_lite0
tf_efficientnetv2_b0 tresnet_m gernet_s mobileone_s0 shvit_s1 swiftformer_xs csatv2 convnextv2_atto edgenext_small_rw
haloregnetz_b regnetz_b16 regnetv_040
""".split():
    family(name)
family("coatnet_nano_rw_224", img_size=64)
family("convmixer_768_32", 32, dim=16, depth=2)
family("mixer_s32_224", img_size=64, num_blocks=2)
family("resmlp_12_224", img_size=64, num_blocks=2)
family("gmlp_ti16_224", img_size=64, num_blocks=2)
family("cait_xxs24_224", img_size=64, depth=2, embed_dim=32, num_heads=4)
family("xcit_nano_12_p16_224", depth=2)
family("levit_128s", img_size=64)
family("pit_ti_224", img_size=64)
family("tnt_s_legacy_patch16_224", img_size=64, depth=2)
family("visformer_tiny", img_size=64)
family("crossvit_9_240", alt=False)
family("convit_tiny", img_size=64, depth=2, local_up_to_layer=1)
family("twins_pcpvt_small", img_size=64)
family("volo_d1_224", img_size=64)
family("beit_base_patch16_224", img_size=64, depth=2, embed_dim=32, num_heads=4)
family("beitv2_base_patch16_224", img_size=64, depth=2, embed_dim=32, num_heads=4)
family("eva02_tiny_patch14_224", 56, img_size=56, depth=2)
family("vit_small_patch14_dinov2", 56, img_size=56, depth=2)
family("vit_small_patch16_dinov3", depth=2)
family("vit_relpos_small_patch16_224", img_size=64, depth=2)
family("vit_base_patch16_siglip_224", img_size=64, depth=2, embed_dim=32, num_heads=4)
family("naflexvit_base_patch16_gap", depth=2, embed_dim=32, num_heads=4)
family("hiera_tiny_224", img_size=64)
family("swinv2_cr_tiny_224", img_size=64, window_size=2)
family("swin_s3_tiny_224", img_size=64)
family("maxxvit_rmlp_nano_rw_256", img_size=64)
family("efficientvit_m0", img_size=64)
family("tiny_vit_5m_224", img_size=64)
family("mvitv2_tiny", img_size=64)
family("sequencer2d_s", img_size=64)
family("gcvit_xxtiny", img_size=64)
family("botnet26t_256", img_size=64)
family("inception_resnet_v2", 80)
family("vit_medium_patch16_rope_reg1_gap_256", img_size=64, depth=2)
family("samvit_base_patch16", img_size=64, depth=2, embed_dim=32, num_heads=4, alt=False)
family("vitamin_small_224", img_size=64)
family("nest_tiny", img_size=64)
family("coat_tiny", img_size=64)
