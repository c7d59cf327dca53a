"""Whole models with tiny configurations and random weights: torchvision, timm, transformers."""

from stranger_export import case, R, I, B
import torch
import torchvision
from torchvision import models as TV


def tv(name, make, *shape, alt=True, **k):
    shape = shape or (1, 3, 64, 64)
    k.setdefault("ts", 1)
    case(
        "tv_" + name,
        lambda: (make(), (R(*shape),)),
        dyn=(B,) if alt else None,
        alt=(lambda: (R(shape[0] + 1, *shape[1:]),)) if alt else None,
        least=11,
        seconds=240,
        **k,
    )


NW = dict(weights=None)
from torchvision.models import swin_transformer as SW, maxvit as MV, regnet as RG, efficientnet as EF, convnext as CN, densenet as DN

tv(
    "swin_v2",
    lambda: SW.SwinTransformer(
        patch_size=[4, 4],
        embed_dim=16,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=[4, 4],
        num_classes=7,
        block=SW.SwinTransformerBlockV2,
        downsample_layer=SW.PatchMergingV2,
    ),
    1,
    3,
    32,
    32,
)
tv(
    "swin_odd",
    lambda: SW.SwinTransformer(patch_size=[4, 4], embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=[3, 3], num_classes=7),
    1,
    3,
    40,
    36,
)
tv(
    "maxvit",
    lambda: MV.MaxVit(
        input_size=(32, 32),
        stem_channels=8,
        partition_size=4,
        block_channels=[8, 16],
        block_layers=[1, 1],
        head_dim=4,
        stochastic_depth_prob=0.1,
        num_classes=7,
    ),
    1,
    3,
    32,
    32,
)
tv(
    "regnet_y",
    lambda: RG.RegNet(RG.BlockParams.from_init_params(depth=6, w_0=16, w_a=10.0, w_m=2.5, group_width=8, se_ratio=0.25), num_classes=7),
    1,
    3,
    48,
    48,
)
tv("efficientnet_b0", lambda: EF.efficientnet_b0(**NW), 1, 3, 48, 48, ts=2)
tv(
    "efficientnet_v2",
    lambda: EF._efficientnet(
        [EF.FusedMBConvConfig(1, 3, 1, 8, 8, 1), EF.FusedMBConvConfig(4, 3, 2, 8, 16, 1), EF.MBConvConfig(4, 3, 2, 16, 24, 2)],
        0.1,
        32,
        None,
        False,
    ),
    1,
    3,
    48,
    48,
)
tv("shufflenet", lambda: TV.shufflenet_v2_x0_5(**NW), 1, 3, 64, 64, ts=2)
tv("mobilenet_v2_train", lambda: TV.mobilenet_v2(**NW, width_mult=0.25, dropout=0.0), 2, 3, 32, 32, alt=False, train=True, ts=2)
tv("resnet18_train", lambda: TV.ResNet(TV.resnet.BasicBlock, [1, 1, 1, 1], num_classes=7), 2, 3, 64, 64, alt=False, train=True, ts=2)
tv("inception_v3", lambda: TV.inception_v3(weights=None, aux_logits=False, init_weights=False), 1, 3, 80, 80)
tv("alexnet", lambda: TV.alexnet(**NW).features, 1, 3, 64, 64)
tv("densenet", lambda: DN.DenseNet(8, (2, 2, 2), 16, num_classes=7), 1, 3, 48, 48, ts=2)
tv("deeplab", lambda: TV.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5), 1, 3, 48, 48)
tv(
    "fcn",
    lambda: TV.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=5, aux_loss=True),
    1,
    3,
    32,
    40,
    alt=False,
)
tv("lraspp", lambda: TV.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5), 1, 3, 48, 40)
tv(
    "r3d",
    lambda: TV.video.VideoResNet(
        TV.video.resnet.BasicBlock, [TV.video.resnet.Conv3DSimple] * 4, [1, 1, 1, 1], TV.video.resnet.BasicStem, num_classes=7
    ),
    1,
    3,
    4,
    24,
    24,
)
tv(
    "r2plus1d",
    lambda: TV.video.VideoResNet(
        TV.video.resnet.BasicBlock, [TV.video.resnet.Conv2Plus1D] * 4, [1, 1, 1, 1], TV.video.resnet.R2Plus1dStem, num_classes=7
    ),
    1,
    3,
    4,
    24,
    24,
)


def mvit():
    from torchvision.models.video.mvit import MViT, MSBlockConfig

    cfg = [
        MSBlockConfig(
            num_heads=1, input_channels=16, output_channels=16, kernel_q=[], kernel_kv=[3, 3, 3], stride_q=[], stride_kv=[1, 4, 4]
        ),
        MSBlockConfig(
            num_heads=2,
            input_channels=16,
            output_channels=32,
            kernel_q=[3, 3, 3],
            kernel_kv=[3, 3, 3],
            stride_q=[1, 2, 2],
            stride_kv=[1, 2, 2],
        ),
    ]
    return MViT(
        spatial_size=(32, 32),
        temporal_size=4,
        block_setting=cfg,
        residual_pool=True,
        residual_with_cls_embed=False,
        rel_pos_embed=True,
        proj_after_attn=True,
        num_classes=7,
    )


tv("mvit", mvit, 1, 3, 4, 32, 32, alt=False)


class Det(torch.nn.Module):
    def __init__(self, m, keys):
        super().__init__()
        self.m, self.keys = m, keys

    def forward(self, x):
        return tuple(self.m([x])[0][k] for k in self.keys)


def backbone(c=16, fpn=True):
    from torchvision.ops.feature_pyramid_network import LastLevelMaxPool

    m = TV.ResNet(TV.resnet.BasicBlock, [1, 1, 1, 1], num_classes=7)
    return TV.detection.backbone_utils.BackboneWithFPN(m, {"layer2": "0", "layer3": "1"}, [128, 256], c, LastLevelMaxPool()) if fpn else m


def anchors(n):
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    return AnchorGenerator(tuple((16 * 2**i,) for i in range(n)), ((0.5, 1.0, 2.0),) * n)


SIZE = dict(min_size=64, max_size=96)
D = TV.detection
case(
    "tv_fasterrcnn",
    lambda: (
        Det(
            D.FasterRCNN(
                backbone(),
                5,
                rpn_anchor_generator=anchors(3),
                rpn_post_nms_top_n_test=30,
                rpn_pre_nms_top_n_test=50,
                box_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0", "1"], 4, 2),
                box_detections_per_img=10,
                box_score_thresh=0.0,
                **SIZE,
            ),
            ("boxes", "labels", "scores"),
        ),
        (torch.rand(3, 70, 80),),
    ),
    dyn=({1: "h", 2: "w"},),
    alt=lambda: (torch.rand(3, 60, 90),),
    least=11,
    ts=3,
    seconds=300,
)
case(
    "tv_maskrcnn",
    lambda: (
        Det(
            D.MaskRCNN(
                backbone(),
                5,
                rpn_anchor_generator=anchors(3),
                rpn_post_nms_top_n_test=30,
                rpn_pre_nms_top_n_test=50,
                box_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0", "1"], 4, 2),
                mask_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0", "1"], 8, 2),
                box_detections_per_img=5,
                box_score_thresh=0.0,
                **SIZE,
            ),
            ("boxes", "labels", "scores", "masks"),
        ),
        (torch.rand(3, 70, 80),),
    ),
    dyn=({1: "h", 2: "w"},),
    alt=lambda: (torch.rand(3, 60, 90),),
    least=11,
    ts=2,
    seconds=300,
)
case(
    "tv_keypointrcnn",
    lambda: (
        Det(
            D.KeypointRCNN(
                backbone(),
                2,
                num_keypoints=4,
                rpn_anchor_generator=anchors(3),
                rpn_post_nms_top_n_test=30,
                rpn_pre_nms_top_n_test=50,
                box_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0", "1"], 4, 2),
                keypoint_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0", "1"], 8, 2),
                box_detections_per_img=5,
                box_score_thresh=0.0,
                **SIZE,
            ),
            ("boxes", "labels", "scores", "keypoints", "keypoints_scores"),
        ),
        (torch.rand(3, 70, 80),),
    ),
    least=11,
    ts=2,
    seconds=300,
)
case(
    "tv_retinanet",
    lambda: (
        Det(
            D.RetinaNet(backbone(), 5, anchor_generator=anchors(3), topk_candidates=50, detections_per_img=20, score_thresh=0.0, **SIZE),
            ("boxes", "labels", "scores"),
        ),
        (torch.rand(3, 70, 80),),
    ),
    dyn=({1: "h", 2: "w"},),
    alt=lambda: (torch.rand(3, 60, 90),),
    least=11,
    ts=2,
    seconds=300,
)
case(
    "tv_fcos",
    lambda: (
        Det(
            D.FCOS(
                backbone(),
                5,
                anchor_generator=D.anchor_utils.AnchorGenerator(((8,), (16,), (32,)), ((1.0,),) * 3),
                topk_candidates=50,
                detections_per_img=20,
                score_thresh=0.0,
                **SIZE,
            ),
            ("boxes", "labels", "scores"),
        ),
        (torch.rand(3, 70, 80),),
    ),
    least=11,
    ts=2,
    seconds=300,
)
case(
    "tv_ssd",
    lambda: (
        Det(
            D.ssdlite320_mobilenet_v3_large(
                weights=None, weights_backbone=None, num_classes=5, score_thresh=0.0, topk_candidates=20, detections_per_img=10
            ),
            ("boxes", "labels", "scores"),
        ),
        (torch.rand(3, 96, 96),),
    ),
    least=11,
    ts=1,
    dynamo=0,
    seconds=300,
)
O = torchvision.ops
case(
    "tv_nms",
    lambda: ((lambda b, s: O.nms(torch.cat([b[:, :2], b[:, :2] + b[:, 2:]], 1), s, 0.4)), (torch.rand(20, 4), torch.rand(20))),
    dyn=({0: "n"}, {0: "n"}),
    alt=lambda: (torch.rand(9, 4), torch.rand(9)),
    least=11,
    ts=3,
)
case(
    "tv_batched_nms",
    lambda: (
        (lambda b, s, i: O.batched_nms(torch.cat([b[:, :2], b[:, :2] + b[:, 2:]], 1), s, i, 0.4)),
        (torch.rand(20, 4), torch.rand(20), I(3, 20)),
    ),
    dyn=({0: "n"},) * 3,
    alt=lambda: (torch.rand(9, 4), torch.rand(9), I(3, 9)),
    least=11,
    ts=3,
)
for al in (False, True):
    case(
        f"tv_roialign_{int(al)}",
        lambda al=al: (
            (lambda x, b: O.roi_align(x, b, 3, 0.5, 2, al)),
            (R(2, 3, 16, 16), torch.cat([I(2, 5, 1).float(), torch.rand(5, 2) * 10, torch.rand(5, 2) * 10 + 15], 1)),
        ),
        least=16,
        ts=2,
    )
case(
    "tv_roipool",
    lambda: (
        (lambda x, b: O.roi_pool(x, b, 3, 0.5)),
        (R(2, 3, 16, 16), torch.cat([I(2, 5, 1).float(), torch.rand(5, 2) * 10, torch.rand(5, 2) * 10 + 15], 1)),
    ),
    least=11,
    ts=2,
)
case(
    "tv_deform",
    lambda: (
        (lambda x, o, w, m: O.deform_conv2d(x, o, w, padding=1, mask=m)),
        (R(2, 4, 6, 7), R(2, 18, 6, 7), R(5, 4, 3, 3), torch.rand(2, 9, 6, 7)),
    ),
    least=19,
    ts=1,
    dynamo=2,
)
case("tv_iou", lambda: (O.box_iou, (torch.rand(5, 4), torch.rand(6, 4))), least=11)
