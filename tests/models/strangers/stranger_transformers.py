"""transformers: tiny configurations of many families, with caches, encoder-decoder, generation."""

from stranger_export import case, R, I, B
import torch
import transformers as T

BT = {0: "batch", 1: "time"}
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=97, max_position_embeddings=64)


class Take(torch.nn.Module):
    """A model called by name, its outputs as a plain tuple."""

    def __init__(self, m, names, outs=None, **fixed):
        super().__init__()
        self.m, self.names, self.outs, self.fixed = m, names, outs, fixed

    def forward(self, a=None, b=None, c=None, d=None):
        args = dict(zip(self.names, (a, b, c, d)))
        out = self.m(**args, **self.fixed)
        if self.outs:
            return tuple(out[o] for o in self.outs)
        return tuple(x for x in out.to_tuple() if isinstance(x, torch.Tensor))


def text(name, cls, cfg, names=("input_ids", "attention_mask"), kw=None, outs=None, attn="eager", seconds=240, ts=1, dynamo=1, **over):
    def make():
        config = getattr(T, cfg)(**{**({} if cfg in ("FunnelConfig", "XLNetConfig") else SMALL), **over})
        config._attn_implementation = attn
        if "num_experts" in over or "num_local_experts" in over or "n_routed_experts" in over:
            config._experts_implementation = "eager"
        config.use_cache = False
        m = getattr(T, cls)(config)
        ids = I(90, 2, 9) + 3
        args = {
            "input_ids": ids,
            "attention_mask": torch.tensor([[1] * 9, [1] * 6 + [0] * 3]),
            "token_type_ids": torch.zeros_like(ids),
            "decoder_input_ids": I(90, 2, 5) + 3,
        }
        return Take(m, names, outs, **(kw or {})), tuple(args[n] for n in names)

    def alt():
        ids = I(90, 3, 7) + 3
        args = {
            "input_ids": ids,
            "attention_mask": torch.tensor([[1] * 7, [1] * 5 + [0] * 2, [1] * 7]),
            "token_type_ids": torch.zeros_like(ids),
            "decoder_input_ids": I(90, 3, 4) + 3,
        }
        return tuple(args[n] for n in names)

    case(
        "hf_" + name,
        make,
        dyn=tuple({0: "batch", 1: "dtime" if n.startswith("dec") else "time"} for n in names),
        alt=alt,
        ts=ts,
        dynamo=dynamo,
        least=13,
        seconds=seconds,
    )


TT = ("input_ids", "attention_mask", "token_type_ids")
text("electra", "ElectraForSequenceClassification", "ElectraConfig", TT, embedding_size=16)
text("deberta", "DebertaModel", "DebertaConfig", relative_attention=True, pos_att_type=["c2p", "p2c"])
text(
    "deberta_v2",
    "DebertaV2Model",
    "DebertaV2Config",
    relative_attention=True,
    pos_att_type=["c2p", "p2c"],
    position_buckets=16,
    conv_kernel_size=3,
)
text("longformer", "LongformerModel", "LongformerConfig", attention_window=4, max_position_embeddings=80)
text("roformer", "RoFormerModel", "RoFormerConfig")
text("xlmroberta", "XLMRobertaForTokenClassification", "XLMRobertaConfig")
text("camembert", "CamembertForMaskedLM", "CamembertConfig")
text("mpnet", "MPNetModel", "MPNetConfig")
text("squeezebert", "SqueezeBertModel", "SqueezeBertConfig", embedding_size=32)
text("convbert", "ConvBertModel", "ConvBertConfig", embedding_size=32, head_ratio=2, conv_kernel_size=3)
text("mobilebert", "MobileBertModel", "MobileBertConfig", embedding_size=16, intra_bottleneck_size=16, true_hidden_size=16)
text("layoutlm", "LayoutLMModel", "LayoutLMConfig")
text(
    "modernbert",
    "ModernBertForMaskedLM",
    "ModernBertConfig",
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    cls_token_id=1,
    sep_token_id=2,
    local_attention=4,
    attn="sdpa",
)
text("nystromformer", "NystromformerModel", "NystromformerConfig", num_landmarks=3, segment_means_seq_len=9)
text("funnel", "FunnelModel", "FunnelConfig", d_model=32, n_head=4, d_head=8, d_inner=48, block_sizes=[1, 1], num_decoder_layers=1)
text("xlnet", "XLNetModel", "XLNetConfig", d_model=32, n_layer=2, n_head=4, d_inner=48)
text("flaubert", "FlaubertModel", "FlaubertConfig", emb_dim=32, n_layers=2, n_heads=4, n_words=97)
text("bert_qa", "BertForQuestionAnswering", "BertConfig", TT, attn="sdpa")
text("fnet", "FNetModel", "FNetConfig", ("input_ids",))
text(
    "t5",
    "T5ForConditionalGeneration",
    "T5Config",
    ("input_ids", "attention_mask", "decoder_input_ids"),
    d_model=32,
    d_kv=8,
    d_ff=48,
    num_layers=2,
    num_heads=4,
    outs=("logits",),
)
text(
    "t5_gated",
    "T5ForConditionalGeneration",
    "T5Config",
    ("input_ids", "attention_mask", "decoder_input_ids"),
    d_model=32,
    d_kv=8,
    d_ff=48,
    num_layers=2,
    num_heads=4,
    outs=("logits",),
    feed_forward_proj="gated-gelu",
)
text(
    "longt5",
    "LongT5EncoderModel",
    "LongT5Config",
    d_model=32,
    d_kv=8,
    d_ff=48,
    num_layers=2,
    num_heads=4,
    local_radius=3,
    encoder_attention_type="local",
)
ED = dict(
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
)
for n, c in (
    ("marian", "MarianMTModel"),
    ("pegasus", "PegasusForConditionalGeneration"),
    ("mbart", "MBartForConditionalGeneration"),
    ("blenderbot", "BlenderbotForConditionalGeneration"),
    ("m2m100", "M2M100ForConditionalGeneration"),
    ("plbart", "PLBartForConditionalGeneration"),
    ("led", "LEDForConditionalGeneration"),
):
    cfg = {
        "marian": "MarianConfig",
        "pegasus": "PegasusConfig",
        "mbart": "MBartConfig",
        "blenderbot": "BlenderbotConfig",
        "m2m100": "M2M100Config",
        "plbart": "PLBartConfig",
        "led": "LEDConfig",
    }[n]
    text(
        n,
        c,
        cfg,
        ("input_ids", "attention_mask", "decoder_input_ids"),
        outs=("logits",),
        pad_token_id=1,
        decoder_start_token_id=2,
        **ED,
        **(dict(attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64) if n == "led" else {})
    )
CAUSAL = dict(
    gptneo=(
        "GPTNeoForCausalLM",
        "GPTNeoConfig",
        dict(num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4),
    ),
    gptneox=("GPTNeoXForCausalLM", "GPTNeoXConfig", {}),
    gptj=("GPTJForCausalLM", "GPTJConfig", dict(n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=64)),
    bloom=("BloomForCausalLM", "BloomConfig", dict(n_layer=2, n_head=4)),
    falcon=("FalconForCausalLM", "FalconConfig", dict(new_decoder_architecture=True, num_kv_heads=2)),
    falcon_alibi=("FalconForCausalLM", "FalconConfig", dict(alibi=True, new_decoder_architecture=False, multi_query=True)),
    codegen=("CodeGenForCausalLM", "CodeGenConfig", dict(n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=64)),
    mpt=("MptForCausalLM", "MptConfig", dict(d_model=32, n_heads=4, n_layers=2, max_seq_len=64)),
    gemma=("GemmaForCausalLM", "GemmaConfig", dict(num_key_value_heads=1, head_dim=8)),
    gemma3=("Gemma3ForCausalLM", "Gemma3TextConfig", dict(num_key_value_heads=2, head_dim=8, sliding_window=4)),
    phi=("PhiForCausalLM", "PhiConfig", {}),
    qwen3=("Qwen3ForCausalLM", "Qwen3Config", dict(num_key_value_heads=2, head_dim=8)),
    olmo2=("Olmo2ForCausalLM", "Olmo2Config", {}),
    stablelm=("StableLmForCausalLM", "StableLmConfig", dict(num_key_value_heads=2)),
    starcoder2=("Starcoder2ForCausalLM", "Starcoder2Config", dict(num_key_value_heads=2)),
    granite=("GraniteForCausalLM", "GraniteConfig", dict(num_key_value_heads=2)),
    cohere=("CohereForCausalLM", "CohereConfig", dict(num_key_value_heads=2)),
    persimmon=("PersimmonForCausalLM", "PersimmonConfig", {}),
    gptbigcode=("GPTBigCodeForCausalLM", "GPTBigCodeConfig", dict(n_embd=32, n_layer=2, n_head=4, n_positions=64)),
    xglm=("XGLMForCausalLM", "XGLMConfig", dict(d_model=32, ffn_dim=48, num_layers=2, attention_heads=4)),
    biogpt=("BioGptForCausalLM", "BioGptConfig", {}),
    smollm3=("SmolLM3ForCausalLM", "SmolLM3Config", dict(num_key_value_heads=2, pad_token_id=0)),
    mixtral=("MixtralForCausalLM", "MixtralConfig", dict(num_key_value_heads=2, num_local_experts=4)),
    qwen2moe=(
        "Qwen2MoeForCausalLM",
        "Qwen2MoeConfig",
        dict(num_key_value_heads=2, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=16),
    ),
    olmoe=("OlmoeForCausalLM", "OlmoeConfig", dict(num_key_value_heads=2, num_experts=4, num_experts_per_tok=2)),
    mamba=("MambaForCausalLM", "MambaConfig", dict(state_size=4, expand=2, conv_kernel=3)),
    mamba2=(
        "Mamba2ForCausalLM",
        "Mamba2Config",
        dict(state_size=4, expand=2, conv_kernel=3, num_heads=8, head_dim=8, n_groups=2, chunk_size=4),
    ),
    rwkv=("RwkvForCausalLM", "RwkvConfig", dict(attention_hidden_size=32, context_length=64)),
    recurrentgemma=(
        "RecurrentGemmaForCausalLM",
        "RecurrentGemmaConfig",
        dict(num_key_value_heads=1, lru_width=32, attention_window_size=8, head_dim=8),
    ),
    ctrl=("CTRLLMHeadModel", "CTRLConfig", dict(n_embd=32, n_layer=2, n_head=4, n_positions=64, dff=48)),
    openai=("OpenAIGPTLMHeadModel", "OpenAIGPTConfig", dict(n_embd=32, n_layer=2, n_head=4, n_positions=64)),
    xlm=("XLMModel", "XLMConfig", dict(emb_dim=32, n_layers=2, n_heads=4, n_words=97)),
    deepseek=(
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        dict(
            num_key_value_heads=4,
            q_lora_rank=16,
            kv_lora_rank=8,
            qk_rope_head_dim=4,
            qk_nope_head_dim=4,
            v_head_dim=8,
            n_routed_experts=4,
            num_experts_per_tok=2,
            n_group=2,
            topk_group=1,
            moe_intermediate_size=16,
            first_k_dense_replace=1,
        ),
    ),
)
for n, (c, cfg, o) in CAUSAL.items():
    names = ("input_ids",) if n in ("mamba", "mamba2", "rwkv") else ("input_ids", "attention_mask")
    text(n, c, cfg, names, outs=("logits",) if n != "xlm" else None, **o)
    if n in ("gemma", "bloom", "qwen3", "phi", "gptneox"):
        text(n + "_sdpa", c, cfg, names, outs=("logits",), attn="sdpa", **o)


class Cached(torch.nn.Module):
    """One step of decoding: keys and values come in and go out."""

    def __init__(self, m, layers):
        super().__init__()
        self.m, self.n = m, layers

    def forward(self, ids, mask, past):
        cache = T.DynamicCache()
        for i in range(self.n):
            cache.update(past[2 * i], past[2 * i + 1], i)
        o = self.m(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True)
        c = o.past_key_values
        return (o.logits,) + tuple(t for l in c.layers for t in (l.keys, l.values))


def cached(name, cls, cfg, kv=4, hd=8, attn="eager", **over):
    def make():
        config = getattr(T, cfg)(**{**SMALL, **over})
        config._attn_implementation = attn
        return Cached(getattr(T, cls)(config), 2), (
            I(90, 2, 1) + 3,
            torch.ones(2, 7, dtype=torch.long),
            [R(2, kv, 6, hd) for _ in range(4)],
        )

    case(
        "hf_" + name + "_cache",
        make,
        dyn=({0: "b"}, {0: "b", 1: "total"}, [{0: "b", 2: "past"}] * 4),
        alt=lambda: (I(90, 3, 1) + 3, torch.ones(3, 4, dtype=torch.long), [R(3, kv, 3, hd) for _ in range(4)]),
        ts=1,
        dynamo=1,
        least=14,
        seconds=240,
    )


cached("gpt2", "GPT2LMHeadModel", "GPT2Config", n_embd=32, n_layer=2, n_head=4, n_positions=64)
cached("llama", "LlamaForCausalLM", "LlamaConfig", kv=2, num_key_value_heads=2)
cached("llama_sdpa", "LlamaForCausalLM", "LlamaConfig", kv=2, num_key_value_heads=2, attn="sdpa")
cached("qwen2", "Qwen2ForCausalLM", "Qwen2Config", kv=2, num_key_value_heads=2, attn="sdpa")
cached("opt", "OPTForCausalLM", "OPTConfig", ffn_dim=48, word_embed_proj_dim=32)
cached("gptneox", "GPTNeoXForCausalLM", "GPTNeoXConfig")
cached("phi3", "Phi3ForCausalLM", "Phi3Config", num_key_value_heads=4, pad_token_id=0)
cached("bloom", "BloomForCausalLM", "BloomConfig", n_layer=2, n_head=4)
cached("gemma2", "Gemma2ForCausalLM", "Gemma2Config", kv=2, num_key_value_heads=2, head_dim=8)
cached("mistral", "MistralForCausalLM", "MistralConfig", kv=2, num_key_value_heads=2, sliding_window=4)


def image(name, cls, cfg, size=32, n=1, ch=3, alt=True, attn="eager", outs=None, ts=1, dynamo=1, fixed=None, **over):
    base = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=size, patch_size=8)

    def make():
        if cfg in (
            "Swinv2Config",
            "DonutSwinConfig",
            "Swin2SRConfig",
            "RegNetConfig",
            "BitConfig",
            "CvtConfig",
            "HieraConfig",
            "ConvNextV2Config",
        ):
            base.clear(), base.update(image_size=size) if cfg.startswith(("Sw", "Do")) else None
        config = getattr(T, cfg)(**{**base, **over})
        config._attn_implementation = attn
        return Take(getattr(T, cls)(config), ("pixel_values",), outs, **(fixed or {})), (R(1, ch, size, size),)

    case(
        "hf_" + name,
        make,
        dyn=({0: "b"},) if alt else None,
        alt=(lambda: (R(2, ch, size, size),)) if alt else None,
        ts=ts,
        dynamo=dynamo,
        least=13,
        seconds=240,
    )


image("beit", "BeitForImageClassification", "BeitConfig", use_relative_position_bias=True)
image("data2vec_vision", "Data2VecVisionModel", "Data2VecVisionConfig")
image("siglip_vision", "SiglipVisionModel", "SiglipVisionConfig")
image("dinov2", "Dinov2Model", "Dinov2Config")
image("dinov2_reg", "Dinov2WithRegistersModel", "Dinov2WithRegistersConfig")
image("dinov3", "DINOv3ViTModel", "DINOv3ViTConfig")
image("ijepa", "IJepaModel", "IJepaConfig")
image("vit_msn", "ViTMSNModel", "ViTMSNConfig")
image(
    "segformer",
    "SegformerForSemanticSegmentation",
    "SegformerConfig",
    64,
    hidden_sizes=[8, 16, 16, 32],
    depths=[1, 1, 1, 1],
    num_attention_heads=[1, 2, 2, 4],
    decoder_hidden_size=16,
)
image("cvt", "CvtModel", "CvtConfig", 64, embed_dim=[8, 16, 32], num_heads=[1, 2, 4], depth=[1, 1, 1])
image(
    "pvt",
    "PvtModel",
    "PvtConfig",
    64,
    hidden_sizes=[8, 16, 16, 32],
    depths=[1, 1, 1, 1],
    num_attention_heads=[1, 2, 2, 4],
    image_size=64,
    patch_sizes=[4, 2, 2, 2],
)
image("swinv2", "Swinv2Model", "Swinv2Config", 64, embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4, patch_size=4)
image("donut_swin", "DonutSwinModel", "DonutSwinConfig", 64, embed_dim=16, depths=[2, 1], num_heads=[2, 4], window_size=4, patch_size=4)
image("poolformer", "PoolFormerModel", "PoolFormerConfig", 64, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])
image(
    "levit",
    "LevitForImageClassification",
    "LevitConfig",
    64,
    hidden_sizes=[32, 48, 64],
    num_attention_heads=[2, 3, 4],
    depths=[1, 1, 1],
    key_dim=[8, 8, 8],
    patch_size=16,
    down_ops=[["Subsample", 8, 4, 4, 2, 2], ["Subsample", 8, 6, 4, 2, 2]],
)
image(
    "mobilevit",
    "MobileViTModel",
    "MobileViTConfig",
    64,
    hidden_sizes=[16, 24, 32],
    neck_hidden_sizes=[8, 8, 12, 16, 20, 24, 32],
    patch_size=2,
)
image("mobilenet_v1", "MobileNetV1Model", "MobileNetV1Config", 64, depth_multiplier=0.25)
image("resnet", "ResNetModel", "ResNetConfig", 64, embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])
image("regnet", "RegNetModel", "RegNetConfig", 64, embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], groups_width=8)
image(
    "focalnet",
    "FocalNetModel",
    "FocalNetConfig",
    64,
    embed_dim=16,
    hidden_sizes=[16, 32],
    depths=[1, 1],
    focal_levels=[2, 2],
    focal_windows=[3, 3],
    patch_size=4,
)
image(
    "yolos", "YolosForObjectDetection", "YolosConfig", 64, image_size=[64, 64], num_detection_tokens=5, use_mid_position_embeddings=True
)
image(
    "dpt",
    "DPTForDepthEstimation",
    "DPTConfig",
    64,
    is_hybrid=False,
    backbone_out_indices=[0, 1, 2, 3],
    num_hidden_layers=4,
    neck_hidden_sizes=[8, 8, 8, 8],
    fusion_hidden_size=8,
    reassemble_factors=[4, 2, 1, 0.5],
    patch_size=16,
)
image(
    "glpn",
    "GLPNForDepthEstimation",
    "GLPNConfig",
    64,
    hidden_sizes=[8, 16, 16, 32],
    depths=[1, 1, 1, 1],
    num_attention_heads=[1, 2, 2, 4],
    decoder_hidden_size=16,
)
image("bit", "BitModel", "BitConfig", 64, embedding_size=8, hidden_sizes=[32, 32, 32, 32], depths=[1, 1, 1, 1], num_groups=4)
image("convnextv2", "ConvNextV2Model", "ConvNextV2Config", 64, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], drop_path_rate=0.0)
image("swiftformer", "SwiftFormerModel", "SwiftFormerConfig", 64, embed_dims=[16, 16, 32, 32], depths=[1, 1, 1, 1])
image("vitmatte", "VitDetModel", "VitDetConfig", 64, window_size=0, image_size=64, residual_block_indices=[], window_block_indices=[])
image("clip_vision_proj", "CLIPVisionModelWithProjection", "CLIPVisionConfig", projection_dim=16)
image(
    "hiera",
    "HieraModel",
    "HieraConfig",
    64,
    image_size=[64, 64],
    embed_dim=16,
    depths=[1, 1],
    num_heads=[1, 2],
    masked_unit_size=[4, 4],
    num_query_pool=1,
    alt=False,
)
image(
    "super_res",
    "Swin2SRForImageSuperResolution",
    "Swin2SRConfig",
    16,
    image_size=16,
    patch_size=1,
    embed_dim=16,
    depths=[1, 1],
    num_heads=[2, 2],
    window_size=4,
)


def other(name, make, dyn=None, alt=None, **k):
    case("hf_" + name, make, dyn=dyn, alt=alt, ts=k.pop("ts", 1), dynamo=k.pop("dynamo", 1), least=14, seconds=300, **k)


def clip():
    c = T.CLIPConfig(
        text_config=dict(SMALL, projection_dim=16, eos_token_id=2),
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8),
        projection_dim=16,
    )
    c._attn_implementation = "eager"
    return Take(T.CLIPModel(c), ("input_ids", "pixel_values", "attention_mask"), ("logits_per_image", "text_embeds", "image_embeds")), (
        I(90, 2, 7) + 3,
        R(1, 3, 32, 32),
        torch.ones(2, 7, dtype=torch.long),
    )


other(
    "clip",
    clip,
    ({0: "t", 1: "n"}, {0: "b"}, {0: "t", 1: "n"}),
    lambda: (I(90, 3, 6) + 3, R(2, 3, 32, 32), torch.ones(3, 6, dtype=torch.long)),
    ts=2,
)


def siglip():
    c = T.SiglipConfig(
        text_config=dict(SMALL),
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8),
    )
    return Take(T.SiglipModel(c), ("input_ids", "pixel_values"), ("logits_per_image",)), (I(90, 2, 7) + 3, R(1, 3, 32, 32))


other("siglip", siglip, ({0: "t"}, {0: "b"}), lambda: (I(90, 3, 7) + 3, R(2, 3, 32, 32)))


def owlvit():
    c = T.OwlViTConfig(
        text_config=dict(SMALL),
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8),
        projection_dim=16,
    )
    return Take(T.OwlViTForObjectDetection(c), ("input_ids", "pixel_values", "attention_mask"), ("logits", "pred_boxes")), (
        I(90, 2, 7) + 3,
        R(1, 3, 32, 32),
        torch.ones(2, 7, dtype=torch.long),
    )


other("owlvit", owlvit)


def detr(cls="DetrForObjectDetection", cfg="DetrConfig", **o):
    b = T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], out_features=o.pop("feats", ["stage4"]))
    c = getattr(T, cfg)(
        backbone_config=b,
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_queries=6,
        num_labels=5,
        **o
    )
    return Take(getattr(T, cls)(c), ("pixel_values",), ("logits", "pred_boxes")), (R(1, 3, 64, 80),)


other("detr", detr)
other("conditional_detr", lambda: detr("ConditionalDetrForObjectDetection", "ConditionalDetrConfig"))
other(
    "deformable_detr",
    lambda: detr(
        "DeformableDetrForObjectDetection",
        "DeformableDetrConfig",
        feats=["stage2", "stage3", "stage4"],
        disable_custom_kernels=True,
        encoder_n_points=2,
        decoder_n_points=2,
    ),
)


def rtdetr():
    b = T.RTDetrResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 32, 32],
        depths=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
        layer_type="basic",
    )
    c = T.RTDetrConfig(
        backbone_config=b,
        encoder_hidden_dim=32,
        encoder_in_channels=[16, 32, 32],
        encoder_ffn_dim=48,
        encoder_attention_heads=4,
        d_model=32,
        num_queries=6,
        decoder_in_channels=[32, 32, 32],
        decoder_ffn_dim=48,
        decoder_layers=2,
        decoder_attention_heads=4,
        num_labels=5,
        anchor_image_size=None,
    )
    return Take(T.RTDetrForObjectDetection(c), ("pixel_values",), ("logits", "pred_boxes")), (R(1, 3, 64, 64),)


other("rtdetr", rtdetr)


def tatr():
    return detr("TableTransformerForObjectDetection", "TableTransformerConfig")


other("table_transformer", tatr)


def whisper():
    c = T.WhisperConfig(
        vocab_size=97,
        num_mel_bins=16,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_source_positions=20,
        max_target_positions=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=3,
    )
    c.use_cache = False
    return Take(T.WhisperForConditionalGeneration(c), ("input_features", "decoder_input_ids"), ("logits",)), (R(1, 16, 40), I(90, 1, 5))


other("whisper", whisper, ({0: "b"}, {0: "b", 1: "t"}), lambda: (R(2, 16, 40), I(90, 2, 3)), ts=2)


def audio(cls, cfg, **o):
    c = getattr(T, cfg)(
        **{
            **SMALL,
            **dict(
                conv_dim=(16, 16, 16),
                conv_stride=(5, 2, 2),
                conv_kernel=(10, 3, 2),
                num_feat_extract_layers=3,
                num_conv_pos_embeddings=8,
                num_conv_pos_embedding_groups=2,
                classifier_proj_size=16,
                num_labels=5,
            ),
            **o,
        }
    )
    c._attn_implementation = "eager"
    return Take(getattr(T, cls)(c), ("input_values",), ("logits",) if "For" in cls else ("last_hidden_state",)), (R(1, 800),)


for n, c, cfg in (
    ("wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config"),
    ("wav2vec2_cls", "Wav2Vec2ForSequenceClassification", "Wav2Vec2Config"),
    ("hubert", "HubertForCTC", "HubertConfig"),
    ("wavlm", "WavLMForCTC", "WavLMConfig"),
    ("unispeech", "UniSpeechForCTC", "UniSpeechConfig"),
    ("data2vec_audio", "Data2VecAudioModel", "Data2VecAudioConfig"),
    ("sew", "SEWModel", "SEWConfig"),
    ("wav2vec2_conformer", "Wav2Vec2ConformerForCTC", "Wav2Vec2ConformerConfig"),
):
    other(
        n,
        lambda c=c, cfg=cfg: audio(
            c,
            cfg,
            **(dict(position_embeddings_type="rotary") if "conformer" in c.lower() else {}),
            **(dict(feat_extract_norm="layer", do_stable_layer_norm=True) if n == "x" else {})
        ),
        ({0: "b", 1: "t"},),
        lambda: (R(2, 700),),
    )
other(
    "wav2vec2_layer",
    lambda: audio("Wav2Vec2ForCTC", "Wav2Vec2Config", feat_extract_norm="layer", do_stable_layer_norm=True),
    ({0: "b", 1: "t"},),
    lambda: (R(2, 700),),
)


def vits():
    c = T.VitsConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=24,
        flow_size=16,
        spectrogram_bins=9,
        upsample_initial_channel=16,
        upsample_rates=[4, 4],
        upsample_kernel_sizes=[8, 8],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
        prior_encoder_num_flows=1,
        prior_encoder_num_wavenet_layers=1,
        posterior_encoder_num_wavenet_layers=1,
        depth_separable_num_layers=1,
        duration_predictor_num_flows=1,
        noise_scale=0.0,
        noise_scale_duration=0.0,
    )
    m = T.VitsModel(c)
    m.noise_scale = m.noise_scale_duration = 0.0
    return Take(m, ("input_ids",), ("waveform",)), (I(30, 1, 9),)


other("vits", vits, ({1: "t"},), lambda: (I(30, 1, 5),), ts=2, dynamo=0)


def encodec():
    c = T.EncodecConfig(
        target_bandwidths=[1.5],
        sampling_rate=24000,
        num_filters=4,
        hidden_size=16,
        codebook_size=16,
        codebook_dim=16,
        upsampling_ratios=[4, 2],
        num_lstm_layers=1,
    )
    m = T.EncodecModel(c)
    return (lambda x: m.decoder(m.encoder(x))), (R(1, 1, 320),)


other("encodec", encodec, ({0: "b"},), lambda: (R(2, 1, 320),))


def sam():
    c = T.SamConfig(
        vision_config=dict(
            hidden_size=16,
            output_channels=8,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=32,
            patch_size=8,
            window_size=2,
            global_attn_indexes=[1],
            mlp_dim=24,
            num_pos_feats=4,
        ),
        prompt_encoder_config=dict(hidden_size=8, image_size=32, patch_size=8, mask_input_channels=4),
        mask_decoder_config=dict(hidden_size=8, mlp_dim=16, num_hidden_layers=1, num_attention_heads=2, iou_head_hidden_dim=8),
    )
    c._attn_implementation = "eager"
    return Take(T.SamModel(c), ("pixel_values", "input_points"), ("iou_scores", "pred_masks")), (
        R(1, 3, 32, 32),
        torch.rand(1, 1, 2, 2) * 32,
    )


other("sam", sam, ts=2)


def trocr():
    e = T.ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8)
    d = T.TrOCRConfig(
        vocab_size=97,
        d_model=32,
        decoder_layers=1,
        decoder_attention_heads=4,
        decoder_ffn_dim=48,
        cross_attention_hidden_size=32,
        use_cache=False,
        max_position_embeddings=32,
    )
    m = T.VisionEncoderDecoderModel(encoder=T.ViTModel(e, add_pooling_layer=False), decoder=T.TrOCRForCausalLM(d))
    return Take(m, ("pixel_values", "decoder_input_ids"), ("logits",)), (R(1, 3, 32, 32), I(90, 1, 4))


other("trocr", trocr, ({0: "b"}, {0: "b", 1: "t"}), lambda: (R(2, 3, 32, 32), I(90, 2, 6)))


def patchtst():
    c = T.PatchTSTConfig(
        num_input_channels=3,
        context_length=32,
        patch_length=8,
        patch_stride=8,
        d_model=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        ffn_dim=24,
        prediction_length=8,
    )
    return Take(T.PatchTSTForPrediction(c), ("past_values",), ("prediction_outputs",)), (R(2, 32, 3),)


other("patchtst", patchtst)


def tsmixer():
    c = T.PatchTSMixerConfig(
        num_input_channels=3, context_length=32, patch_length=8, patch_stride=8, d_model=16, num_layers=2, prediction_length=8
    )
    return Take(T.PatchTSMixerForPrediction(c), ("past_values",), ("prediction_outputs",)), (R(2, 32, 3),)


other("tsmixer", tsmixer)


def tapas():
    c = T.TapasConfig(**SMALL, type_vocab_sizes=[3, 16, 16, 2, 16, 10, 10], max_num_rows=16, max_num_columns=8, num_aggregation_labels=4)
    return Take(T.TapasForQuestionAnswering(c), ("input_ids", "attention_mask", "token_type_ids"), ("logits",)), (
        I(90, 1, 12) + 3,
        torch.ones(1, 12, dtype=torch.long),
        torch.stack([I(k, 1, 12) for k in (2, 4, 4, 2, 4, 4, 4)], -1),
    )


other("tapas", tapas)


def canine():
    c = T.CanineConfig(
        **{**SMALL, "max_position_embeddings": 256},
        downsampling_rate=4,
        upsampling_kernel_size=4,
        num_hash_functions=4,
        num_hash_buckets=64,
        local_transformer_stride=16
    )
    return Take(T.CanineModel(c), ("input_ids",), ("last_hidden_state",)), (I(900, 1, 32),)


other("canine", canine)


def informer():
    c = T.AutoformerConfig(
        prediction_length=4,
        context_length=8,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        lags_sequence=[1, 2],
        num_time_features=1,
    )
    return Take(
        T.AutoformerModel(c), ("past_values", "past_time_features", "past_observed_mask", "future_time_features"), ("last_hidden_state",)
    ), (R(1, 10), R(1, 10, 1), torch.ones(1, 10), R(1, 4, 1))


other("autoformer", informer)


def blip():
    c = T.BlipConfig(
        text_config=dict(SMALL, encoder_hidden_size=32),
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8),
        projection_dim=16,
    )
    return Take(T.BlipForImageTextRetrieval(c), ("input_ids", "pixel_values", "attention_mask")), (
        I(90, 1, 7) + 3,
        R(1, 3, 32, 32),
        torch.ones(1, 7, dtype=torch.long),
    )


other("blip", blip)


def superpoint():
    c = T.SuperPointConfig(
        encoder_hidden_sizes=[8, 8, 16, 16], decoder_hidden_size=16, keypoint_decoder_dim=65, descriptor_decoder_dim=16, max_keypoints=10
    )
    m = T.SuperPointForKeypointDetection(c)
    return (lambda x: m(x).keypoints), (R(1, 3, 64, 64),)


other("superpoint", superpoint)


class Gen(torch.nn.Module):
    """A generation loop unrolled: greedy, with a cache."""

    def __init__(self, m, n):
        super().__init__()
        self.m, self.n = m, n

    def forward(self, ids):
        past, out = T.DynamicCache(), ids
        for _ in range(self.n):
            o = self.m(input_ids=ids, past_key_values=past, use_cache=True)
            past, ids = o.past_key_values, o.logits[:, -1:].argmax(-1)
            out = torch.cat([out, ids], 1)
        return out


def gen():
    c = T.LlamaConfig(**{**SMALL, "vocab_size": 97}, num_key_value_heads=2)
    c._attn_implementation = "eager"
    return Gen(T.LlamaForCausalLM(c), 4), (I(90, 2, 5) + 3,)


other("llama_generate", gen, ({0: "b", 1: "t"},), lambda: (I(90, 1, 8) + 3,))
