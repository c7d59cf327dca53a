"""One input with a meaning for each of the models that fetch.py fetches, and what the result has to mean: a face that is found, a sentence
that is written down, a line that is read, sentences as alike as they are known to be. fetch_material.py fetches what they are made of.
Needs the packages pillow and tokenizers beside those of compare_models.py."""
import json
import unicodedata

import numpy as np
import tokenizers
from PIL import Image, ImageDraw, ImageFilter, ImageFont

import fetch_material
import sounds

F = np.float32
SPOKEN = "go somewhere and do something"
# The documentation of sentence-transformers gives how alike the first two and the first and the third are: 0.6660 and 0.1046.
SENTENCES = ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
ALIKE = (0.6660, 0.1046)
PROMPT = "中国的首都是哪里？"  # what is China's capital?
PHONEMES = unicodedata.normalize("NFD", "bˈom dʒˈiæ, mˈũdu.")
LINE = "Kiln reads 2048 lines"
CAPTCHA = "kh72"
FACE = (176, 66, 272, 162)  # of the astronaut: left, top, right, bottom
PERSON, MOTORCYCLE = 0, 3  # classes of COCO


def require(truth, text):
    """None, or what the result should have meant."""
    return None if truth else text


def cosine(a, b):
    a, b = a.ravel(), b.ravel()
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


class Material:
    """What inputs are made of. run(name, values) gives ONNX Runtime's results of another model by their names."""

    def __init__(self, run, folder=fetch_material.FOLDER):
        self.run, self.folder, self.kept = run, folder, {}

    def path(self, name):
        path = self.folder / name
        if not path.is_file():
            raise OSError(f"{path} is not there; fetch_material.py fetches it")
        return path

    def picture(self, name, size=None, box=None):
        """[height, width, 3] of u8."""
        with Image.open(self.path(name)) as file:
            image = file.convert("RGB")
        if box:
            image = image.crop(box)
        return np.asarray(image.resize(size, Image.BILINEAR) if size else image)

    def sentence(self):
        return sounds.samples(self.path("sentence.raw"))

    def tokens(self, name):
        tokenizer = tokenizers.Tokenizer.from_file(str(self.path(name)))
        tokenizer.no_padding()
        return tokenizer

    def letters(self, name):
        """The letters behind classes 1, 2 ...; class 0 is none."""
        return self.path(name).read_text(encoding="utf-8").split("\n")

    def once(self, key, make):
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]


def channels_first(picture, mean=0.0, spread=255.0):
    return np.ascontiguousarray(((picture.astype(F) - F(mean)) / F(spread)).transpose(2, 0, 1)[None])


def imagenet(picture):
    scaled = (picture / 255 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None].astype(F))


def written(text, height, width, size):
    """A line of black text on white."""
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).text((6, height // 2), text, "black", ImageFont.load_default(size), anchor="lm")
    return np.asarray(image)


def without_repeats(classes):
    """The classes that are neither 0 nor a repetition of the one before."""
    return [c for i, c in enumerate(classes) if c and (i == 0 or c != classes[i - 1])]


# ---- sound

def silero(name):
    """Silence, then the middle of the sentence: each with the state that the sound before has left."""
    def cases(material):
        sound = np.concatenate([np.zeros(8000, F), material.sentence()])
        state, context, found = np.zeros((2, 1, 128), F), np.zeros(64, F), []
        for chunk in sound[:len(sound) // 512 * 512].reshape(-1, 512):
            values = {"input": np.concatenate([context, chunk])[None], "state": state, "sr": np.array(16000, np.int64)}
            results = material.run(name, values)
            found.append((float(results["output"][0, 0]), values))
            state, context = results["stateN"], chunk[-64:]
        speech = max(found, key=lambda pair: pair[0])[1]
        return [(found[8][1], lambda r: require(r["output"][0, 0] < 0.2, "silence is no speech")),
                (speech, lambda r: require(r["output"][0, 0] > 0.9, "the sentence is speech"))]
    return cases


def wake_word(material):
    sound = material.sentence() * 32767
    mel = np.squeeze(material.run("melspectrogram", {"input": sound[None].astype(F)})["output"]) / 10 + 2
    windows = np.stack([mel[i:i + 76] for i in range(0, len(mel) - 75, 8)])[..., None].astype(F)

    def means(results):
        rows = results["conv2d_19"].reshape(len(windows), -1)
        near = np.mean([cosine(a, b) for a, b in zip(rows, rows[1:])])
        far = np.mean([cosine(a, b) for a, b in zip(rows, rows[len(rows) // 2:])])
        return require(near > far, "what is said at nearly the same time is more alike")
    return [({"input_1": windows}, means)]


def decoder_inputs(hidden, tokens):
    values = {"input_ids": np.array([tokens], np.int64), "use_cache_branch": np.array([False]), "encoder_hidden_states": hidden}
    for layer in range(4):
        for side in ("decoder", "encoder"):
            for part in ("key", "value"):
                values[f"past_key_values.{layer}.{side}.{part}"] = np.zeros((1, 6, 0 if side == "decoder" else 1500, 64), F)
    return values


class Listener:
    """What Whisper writes of a sound that its encoder has heard."""
    START = "<|startoftranscript|><|en|><|transcribe|><|notimestamps|>"

    def __init__(self, material):
        self.run, self.tokens = material.run, material.tokens("whisper_tokenizer.json")
        self.start = self.tokens.encode(self.START, add_special_tokens=False).ids
        self.end = self.tokens.token_to_id("<|endoftext|>")

    def text(self, ids):
        text = self.tokens.decode(ids, skip_special_tokens=True)
        return " ".join("".join(c for c in text.lower() if c.isalpha() or c in " -").replace("-", " ").split())

    def listen(self, hidden):
        tokens = list(self.start)
        while len(tokens) < 40 and tokens[-1] != self.end:
            logits = self.run("whisper_tiny_dec_int8", decoder_inputs(hidden, tokens))["logits"]
            tokens.append(int(logits[0, -1].argmax()))
        return tokens


def whisper_encoder(material):
    listener = Listener(material)

    def means(results):
        heard = listener.text(listener.listen(results["last_hidden_state"]))
        return require(heard == SPOKEN, f"the decoder hears: {heard}")
    return [({"input_features": sounds.whisper_spectrum(material.sentence())}, means)]


def whisper_decoder(material):
    """All tokens at once; each has to be followed by the next one."""
    listener = Listener(material)
    hidden = material.run("whisper_tiny_enc_int8", {"input_features": sounds.whisper_spectrum(material.sentence())})["last_hidden_state"]
    tokens = listener.listen(hidden)

    def means(results):
        heard = listener.text(results["logits"][0, len(listener.start) - 1:].argmax(-1))
        return require(heard == SPOKEN, f"it hears: {heard}")
    return [(decoder_inputs(hidden, tokens[:-1]), means)]


def piper(material):
    voice = json.loads(material.path("piper_voice.json").read_text(encoding="utf-8"))["phoneme_id_map"]
    ids = voice["^"] + [i for phoneme in PHONEMES for i in voice["_"] + voice[phoneme]] + voice["_"] + voice["$"]

    def means(results):
        sound = results["output"].ravel()
        return require(0.5 < len(sound) / 22050 < 5 and np.sqrt(np.mean(sound ** 2)) > 0.01, "a short sentence is to be heard")
    return [({"input": np.array([ids], np.int64), "input_lengths": np.array([len(ids)], np.int64),
              "scales": np.array([0, 1.4, 0], F)}, means)]


# ---- language

def sentences(tolerance):
    def cases(material):
        tokens = material.tokens("minilm_tokenizer.json")
        tokens.enable_padding()
        rows = tokens.encode_batch(list(SENTENCES))
        mask = np.array([r.attention_mask for r in rows], np.int64)

        def means(results):
            hidden = results["last_hidden_state"] * mask[..., None]
            pooled = hidden.sum(1) / mask.sum(1, keepdims=True)
            alike = cosine(pooled[0], pooled[1]), cosine(pooled[0], pooled[2])
            return require(np.allclose(alike, ALIKE, rtol=0, atol=tolerance), f"the sentences are alike by {alike}, not {ALIKE}")
        return [({"input_ids": np.array([r.ids for r in rows], np.int64), "attention_mask": mask,
                  "token_type_ids": np.zeros_like(mask)}, means)]
    return cases


def language_model(material):
    """A question and the first words of an answer. The small model in 8 bits has not much to say and is often of two minds: where one
    word is well ahead, it is to say that."""
    tokens = material.tokens("minimind2_tokenizer.json")
    ids = tokens.encode(f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n", add_special_tokens=False).ids
    first = len(ids)

    def inputs():
        values = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64),
                  "position_ids": np.arange(len(ids))[None]}
        for layer in range(8):
            for part in ("key", "value"):
                values[f"past_key_values.{layer}.{part}"] = np.zeros((1, 2, 0, 64), F)
        return values

    for _ in range(16):
        ids.append(int(material.run("minimind2_llm_int8", inputs())["logits"][0, -1].argmax()))
    expected = material.run("minimind2_llm_int8", inputs())["logits"][0, first - 1:]
    second, best = np.sort(expected)[:, -2:].T

    def means(results):
        said = results["logits"][0, first - 1:].argmax(-1)
        sure = (said == expected.argmax(-1))[best - second > 1]
        return require(len(sure) > 2 and sure.all(), f"it says {tokens.decode(said.tolist())!r}")
    return [(inputs(), means)]


# ---- pages

def page_lines(material):
    page = material.picture("page.png", (768, 384))
    around = np.asarray(Image.fromarray(page).filter(ImageFilter.BoxBlur(15)))  # one corner of the page lies in the shade

    def means(results):
        text = results["sigmoid_0.tmp_0"][0, 0] > 0.3
        dark = page.mean(-1) < around.mean(-1) - 50
        return require(0.05 < text.mean() < 0.5 and text[dark].mean() > 2.5 * text.mean(), "letters lie in what was found")
    return [({"x": imagenet(page)}, means)]


def line_read(material):
    letters = material.letters("en_dict.txt") + [" "]
    if not letters[-2]:
        del letters[-2]

    def means(results):
        read = "".join(letters[c - 1] for c in without_repeats(results["softmax_2.tmp_0"][0].argmax(-1).tolist()))
        return require(read.strip() == LINE, f"it reads: {read}")
    return [({"x": channels_first(written(LINE, 48, 320, 28), 127.5, 127.5)}, means)]


def line_turned(material):
    del material
    line = channels_first(written(LINE[:12], 48, 192, 30), 127.5, 127.5)
    both = np.concatenate([line, line[:, :, ::-1, ::-1]])
    return [({"x": np.ascontiguousarray(both)},
             lambda r: require(r["softmax_0.tmp_0"].argmax(-1).tolist() == [0, 1], "the second line stands on its head"))]


def captcha(material):
    letters = json.loads(material.path("captcha_letters.json").read_text(encoding="utf-8"))
    image = written(CAPTCHA, 64, 160, 48).mean(-1)

    def means(results):
        read = "".join(letters[c] for c in without_repeats(results["387"][:, 0].argmax(-1).tolist()))
        return require(read == CAPTCHA, f"it reads: {read}")
    return [({"input1": (image / 127.5 - 1).astype(F)[None, None]}, means)]


# ---- pictures

def face_boxes(material):
    data = channels_first(material.picture("astronaut.png", (640, 640)), 0, 1)
    best = lambda r: max(r[f"face_rpn_cls_prob_reshape_stride{s}"][:, 2:].max() for s in (8, 16, 32))
    return [({"data": data}, lambda r: require(best(r) > 0.95, "there is a face"))]


def face_small(material):
    left, top, right, bottom = FACE
    face = material.picture("astronaut.png", (128, 128), (left - 40, top - 40, right + 40, bottom + 40))
    return [({"input:0": (face / 127.5 - 1).astype(F)[None]},
             lambda r: require(max(r["Identity:0"].max(), r["Identity_1:0"].max()) > 1, "there is a face"))]


def face_pose(material):
    face = material.picture("astronaut.png", (224, 224), FACE)
    degrees = np.arange(66) * 3 - 97.5

    def means(results):
        for logits in results.values():
            parts = np.exp(logits[0] - logits[0].max())
            angle = float(degrees @ parts / parts.sum())
            if abs(angle) > 40:
                return f"the face does not look {angle:.0f} degrees aside"
        return None
    return [({"input": imagenet(face)}, means)]


def face_same(material):
    def given(box, name="astronaut.png", mirrored=False):
        face = material.picture(name, (112, 112), box)
        return {"input": channels_first(face[:, ::-1] if mirrored else face, 127.5, 128)}

    def means(results):
        mirrored = material.run("face_embed_mobilefacenet", given(FACE, mirrored=True))["output"]
        other = material.run("face_embed_mobilefacenet", given((130, 40, 330, 240), "cat.png"))["output"]
        return require(cosine(results["output"], mirrored) > max(0.5, cosine(results["output"], other) + 0.2),
                       "a face is more like its mirror image than like a cat's")
    return [(given(FACE), means)]


def lines(material):
    room = material.picture("motorcycle.png", (320, 320)).astype(F)
    image = np.concatenate([room, np.full((320, 320, 1), 255, F)], -1)[None]
    return [({"input_image_with_alpha:0": image}, lambda r: require(r["scores"].max() > 0.5, "a room has straight lines"))]


def things(material):
    def of(picture, kind, name):
        given = {"images": channels_first(material.picture(picture, (640, 640)))}

        def means(results):
            scores = results["output0"][0, 4:]
            return require(scores.max() > 0.5 and scores.max(1).argmax() == kind, f"there is a {name}")
        return given, means
    return [of("astronaut.png", PERSON, "person"), of("motorcycle.png", MOTORCYCLE, "motorcycle")]


def boxes(material):
    found = material.run("yolov8n", {"images": channels_first(material.picture("astronaut.png", (640, 640)))})["output0"]

    def means(results):
        rows = results["selected"][0]
        return require(0 < len(rows) < 20 and rows[:, 4 + PERSON].max() > 0.5, "a few boxes are left, one is a person's")
    return [({"detection": found, "config": np.array([100, 0.45, 0.25], F)}, means)]


def painted(material):
    picture = material.picture("astronaut.png", (384, 320)).transpose(2, 0, 1)[None]
    mask = np.full((1, 1, 320, 384), 255, np.uint8)
    mask[:, :, 200:260, 60:130] = 0

    def means(results):
        painting, kept = results["result"].astype(int), np.broadcast_to(mask > 0, picture.shape)
        away = np.abs(painting - picture)
        return require(away[kept].mean() < 4 and away[~kept].mean() > 2, "only the hole is painted")
    return [({"image": np.ascontiguousarray(picture), "mask": mask}, means)]


def standing_out(material):
    def means(results):
        map_ = results["1959"][0, 0]
        return require(map_[80:240, 80:240].mean() > 2 * np.concatenate([map_[:60, :60], map_[:60, -60:]]).mean(),
                       "the person stands out, the corners do not")
    return [({"input.1": imagenet(material.picture("astronaut.png", (320, 320)))}, means)]


CASES = {
    "blazeface_front": face_small,
    "ddddocr_crnn_fp32": captcha,
    "face_embed_mobilefacenet": face_same,
    "face_pose_shufflenet": face_pose,
    "migan": painted,
    "minilm_fp32": sentences(0.002),
    "minilm_int8": sentences(0.05),
    "minimind2_llm_int8": language_model,
    "mlsd_tiny": lines,
    "oww_embedding": wake_word,
    "piper_vits": piper,
    "ppocr_cls": line_turned,
    "ppocrv4_det": page_lines,
    "ppocrv4_rec_en": line_read,
    "retinaface_mnet25": face_boxes,
    "silero_vad_op18_ifless": silero("silero_vad_op18_ifless"),
    "silero_vad_v5": silero("silero_vad_v5"),
    "u2netp": standing_out,
    "whisper_tiny_dec_int8": whisper_decoder,
    "whisper_tiny_enc_int8": whisper_encoder,
    "yolov8_nms": boxes,
    "yolov8n": things,
}
