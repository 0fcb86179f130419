#!/usr/bin/env python3
"""Splits texts with the expressions of the models' own tokenizers and writes pieces.json beside itself.

Needs the package tokenizers (written with 0.22). `make_pieces.py N` prints N random cases per rule instead, for a check
at length.
"""
import json, pathlib, random, sys

from tokenizers import Regex, pre_tokenizers as pre

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
CAPITALS, SMALL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASED = "À-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
EAST_ASIAN = "[一-龥ࠀ-一가-퟿]+"


def words(letter, numbers):
    rest = r"[^\s\p{L}\p{M}\p{N}]" if "M" in letter else r"[^\s\p{L}\p{N}]"
    return rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?{letter}+|{numbers}| ?{rest}+[\r\n]*|{SPACES}"


def cased(contractions, numbers):
    lead = r"[^\r\n\p{L}\p{N}]?"
    return rf"{lead}{CAPITALS}*{SMALL}+{contractions}|{lead}{CAPITALS}+{SMALL}*{contractions}|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}"


def splits(*expressions):
    return pre.Sequence([pre.Split(Regex(e), "isolated") for e in expressions])


def plain(model):
    """A byte-level splitter without its alphabet: the same expression as a split."""
    return r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


RULES = {
    "gpt-2": splits(plain("gpt-2")),
    "smollm": pre.Sequence([pre.Digits(True), splits(plain("smollm"))]),
    "qwen2": splits(words(r"\p{L}", r"\p{N}")),
    "llama-bpe": splits(words(r"\p{L}", r"\p{N}{1,3}")),
    "qwen35": splits(words(r"[\p{L}\p{M}]", r"\p{N}")),
    "gpt-4o": splits(cased(CONTRACTIONS + "?", r"\p{N}{1,3}")),
    "tekken": splits(cased("", r"\p{N}")),
    "deepseek-v3": splits(r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
                          "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                          "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"),
    "deepseek-llm": pre.Sequence([splits("[\r\n]", rf"\s?[A-Za-zµ{CASED}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$",
                                         EAST_ASIAN), pre.Digits(True)]),
    "deepseek-coder": pre.Sequence([splits("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST_ASIAN), pre.Digits(True)]),
}

PARTS = ["a", "b", "the", "Word", "HTTP", "xY", "é", "ß", "ǅ", "Ω", "ж", "Ж", "א", "م", "漢", "字", "かな", "カ", "한", "ไ", "ก็",
         "नि", "ʔ", "ʰ", "ﬁ", "\u0301", "\u0308", "\u20dd", "1", "23", "4567", "٣", "½", "²", "Ⅷ", "一二", " ", "  ", "   ", "\t",
         "\n", "\n\n", "\r\n", "\r", "\u00a0", "\u3000", "\u2028", "\x0b", "\x85", "'s", "'S", "'ll", "'LL", "'Re", "'ve", "'d", "'M",
         "'ſ", "'\u212a", "'", "\"", ".", ",", "...", "!", "?", "/", "//", "\\", "-", "_", "(", ")", "{", "}", "[", "]", "<", ">", "=",
         "+", "$", "€", "^", "`", "~", "|", "@", "#", "、", "。", "！", "～", "“", "”", "…", "😀", "👩‍👩‍👧", "🇩🇪", "\u200d", "\ufe0f",
         "\x00", "\x01", "\x7f", "\u200b", "\ufeff", "\ue000", "\U000e0001", "\U0010ffff", "<|im_end|>", "</s>", "𐐀", "𝔘"]
WRITTEN = ["", "Hello world's 123abc!?", "I'LL we'll  x", "a \n b\t\tc  ", " 's", "naïve\u00a0東京 ½", "ABCdef GHi JKL's McDonald'S",
           "漢ABC", "\u0301AB", "!\u0301AB", "x = foo(bar); // see a/b/\n\n  return", "  trailing  ", "1234567890 12", "éa bc", " 漢字abc"]


def pieces(rule, text):
    return [part for part, _ in rule.pre_tokenize_str(text)]


def random_text(rng):
    return "".join(rng.choice(PARTS) for _ in range(rng.randint(1, 24)))


def cases(n_random, seed):
    rng = random.Random(seed)
    texts = WRITTEN + [random_text(rng) for _ in range(n_random)]
    return {name: [[text, pieces(rule, text)] for text in texts] for name, rule in RULES.items()}


def main():
    if len(sys.argv) > 1:
        return json.dump(cases(int(sys.argv[1]), 2), sys.stdout)
    path = pathlib.Path(__file__).with_name("pieces.json")
    lines = [json.dumps(name) + ": [\n" + ",\n".join(json.dumps(c) for c in group) + "\n]" for name, group in cases(60, 1).items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
