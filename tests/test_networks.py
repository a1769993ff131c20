"""Networks and training programs that people really use.

Each is run twice, once under a recording: nothing may differ in a bit, no
healthy program may be told of a problem, and what is asked of it is answered
rightly.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from functools import lru_cache
from types import SimpleNamespace

import networks
import pytest
import torch
from torch import nn

from helpers import draw_graph, record, record_code

NETWORKS = list(networks.NETWORKS)
PROGRAMS = sorted(
    path.stem
    for path in networks.PROGRAMS.glob("*.py")
    if path.stem != "conftest"
)


def nodes(loss):
    """Count the operations behind a loss and the leaves that they end in."""
    seen, stack = set(), [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack += [ahead for ahead, _ in node.next_functions]
    leaves = sum(hasattr(node, "variable") for node in seen)
    return len(seen) - leaves, leaves


def gradients(model):
    return {name: p.grad for name, p in model.named_parameters()}


def same(first, second):
    """Say whether two values, or dicts of them, are the same in each bit."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            same(first[k], second[k]) for k in first
        )
    if first is None or second is None:
        return first is second
    return first.dtype == second.dtype and torch.equal(first, second)


# -- networks


@pytest.mark.parametrize(
    ("make", "count"),
    [(networks.resnet50, 25_557_032), (networks.gpt2, 124_439_808)],
)
def test_the_networks_have_as_many_parameters_as_the_real_ones(make, count):
    assert sum(p.numel() for p in make().parameters()) == count


def test_parts_have_the_names_that_they_have_elsewhere():
    known = {name for name, _ in networks.resnet50().named_parameters()}
    assert {"conv1.weight", "layer1.0.downsample.1.bias", "fc.bias"} <= known
    known = {name for name, _ in networks.tiny_gpt2().named_parameters()}
    assert {"h.1.attn.c_attn.weight", "h.0.mlp.c_fc.bias"} <= known


@pytest.fixture(scope="module", params=NETWORKS)
def ran(request):
    """Run a network plainly and recorded; pytest groups the tests of one."""
    model, compute = networks.make(request.param)
    plain = compute()
    plain.backward()
    expected = gradients(model)
    model.zero_grad(set_to_none=True)
    with record() as recording:
        loss = compute()
        loss.backward()
    return SimpleNamespace(
        name=request.param,
        model=model,
        plain=plain,
        expected=expected,
        loss=loss,
        recording=recording,
    )


class TestNetwork:
    def test_each_operation_is_counted(self, ran):
        count = nodes(ran.plain)[0]
        assert f"{count} operations" in draw_graph(ran.plain).alt

    def test_a_gradient_reaches_each_parameter(self, ran):
        text = draw_graph(ran.plain, model=ran.model).text
        assert nodes(ran.plain)[1] == len(list(ran.model.parameters()))
        assert "no leaf" not in text
        assert "without a name" not in text

    def test_a_picture_by_modules_is_well_formed(self, ran):
        picture = draw_graph(ran.plain, ran.model)
        assert ET.fromstring(picture.svg).tag.endswith("svg")
        assert f"{nodes(ran.plain)[0]} operations" in picture.alt


class TestRecordedNetwork:
    def test_the_loss_is_the_same(self, ran):
        assert same(ran.plain, ran.loss)

    def test_the_gradients_are_the_same(self, ran):
        assert same(ran.expected, gradients(ran.model))

    def test_nothing_is_cut(self, ran):
        assert ran.recording.cuts == []

    def test_nothing_is_wrong(self, ran):
        assert ran.recording.problems == []

    def test_each_parameter_has_its_gradient(self, ran):
        reasons = {
            ran.recording.why_no_grad(p).reason for p in ran.model.parameters()
        }
        assert reasons == {"has_grad"}

    def test_the_recording_can_be_drawn(self, ran):
        picture = ran.recording.draw_graph()
        assert ET.fromstring(picture.svg).tag.endswith("svg")

    def test_each_operation_is_recorded_once(self, ran):
        found = Counter(o.name for o in ran.recording.operations)
        expected = OPERATIONS.get(ran.name, {})
        assert {name: found[name] for name in expected} == expected

    def test_an_operation_knows_the_module_that_ran_it(self, ran):
        paths = {
            path
            for path, part in ran.model.named_modules()
            if isinstance(part, KNOWN_BY_THEIR_OPERATION)
        }
        found = {
            o.module.removeprefix("model").removeprefix(".")
            for o in ran.recording.operations
            if o.name in ("conv2d", "batch_norm", "layer_norm", "gelu")
        }
        assert found == paths


OPERATIONS = {
    "resnet50": {"conv2d": 53, "batch_norm": 53},
    "gpt2": {
        "linear": 12 * 4 + 1,
        "layer_norm": 12 * 2 + 1,
        "scaled_dot_product_attention": 12,
    },
    "unet": {"cat": 4},
    "tagger": {"lstm": 1},
    "translator": {"layer_norm": 2 * 2 + 2 * 3 + 2},
}
KNOWN_BY_THEIR_OPERATION = (
    nn.Conv2d,
    nn.BatchNorm2d,
    nn.LayerNorm,
    nn.GELU,
)


# -- programs


@lru_cache
def run(name):
    """Record a program; all tests of one share it."""
    space = {}
    recording = record_code(networks.program(name), space)
    return SimpleNamespace(space=space, recording=recording)


def state(space):
    """Return each tensor and each parameter of a program, with gradients."""
    found = {}
    for name, thing in space.items():
        if isinstance(thing, torch.Tensor):
            found[name] = thing.detach()
            found[f"{name}.grad"] = thing.grad if thing.is_leaf else None
        if isinstance(thing, nn.Module):
            for path, value in thing.state_dict().items():
                found[f"{name}.{path}"] = value
            for path, p in thing.named_parameters():
                found[f"{name}.{path}.grad"] = p.grad
    return found


@pytest.mark.parametrize("name", PROGRAMS)
class TestRecordedProgram:
    def test_it_ends_without_an_error(self, name):
        assert run(name).recording.error is None

    def test_it_does_the_same(self, name):
        plain = {"__name__": "__main__"}
        exec(compile(networks.program(name), name, "exec"), plain)
        assert same(state(plain), state(run(name).space))

    def test_nothing_is_wrong(self, name):
        assert run(name).recording.problems == []

    def test_it_can_be_drawn(self, name):
        recording = run(name).recording
        assert ET.fromstring(recording.draw_graph().svg).tag.endswith("svg")
        assert ET.fromstring(recording.draw_memory().svg).tag.endswith("svg")


def asked(name, tensor):
    return run(name).recording.why_no_grad(tensor)


def test_a_frozen_backbone_does_not_require_grad():
    found = asked("frozen_backbone", "backbone.0.weight")
    assert found.reason == "not_required"
    assert [cut.kind for cut in found.cuts] == ["frozen"]


def test_the_head_of_a_frozen_backbone_learns():
    assert asked("frozen_backbone", "head.weight").reason == "has_grad"


def test_an_adapted_weight_is_frozen_and_its_adapter_learns():
    assert asked("lora", "net.0.base.weight").reason == "not_required"
    assert asked("lora", "net.0.lora_a").reason == "has_grad"


def test_the_critics_loss_is_cut_from_the_generator_by_detach():
    source = networks.program("gan_step")
    critics_turn = source[: source.index("optimizer_g.zero_grad()")]
    recording = record_code(critics_turn)
    found = recording.why_no_grad("generator.0.weight")
    assert found.reason == "cut"
    assert [cut.kind for cut in found.cuts] == ["detach"]
    assert "`fake.detach()`" in found.sentence


def test_the_generators_own_turn_brings_its_gradient():
    assert asked("gan_step", "generator.0.weight").reason == "has_grad"


def test_a_gan_step_has_one_cut():
    assert [c.kind for c in run("gan_step").recording.cuts] == ["detach"]


def test_a_target_network_is_cut_by_no_grad():
    found = asked("dqn", "target.0.weight")
    assert found.reason == "cut"
    assert [cut.operation for cut in found.cuts] == ["linear"]
    assert "torch.no_grad()" in found.sentence


def test_a_target_network_that_lags_behind_is_no_part_of_the_graph():
    text = run("dqn").recording.draw_graph().text
    assert "Not drawn: line 28, `t.lerp_(o, 0.05)`" in text
    assert not re.search(r"#\d+ lerp_|lerp_ #\d+", text)
    assert "22 more operations: they gave nothing" in text


def test_what_a_distribution_checks_is_no_cut_of_the_graph():
    text = run("policy_gradient").recording.draw_graph().text
    assert "Cut: line 61, `multinomial`." in text
    assert "Cut: line 60" not in text


def test_only_cuts_that_are_drawn_are_told():
    text = run("gan_loop").recording.draw_graph().text
    assert "Cut: line 86, `fake.detach()`." in text
    assert ".item()" not in text


def test_the_gradients_of_a_recording_show_their_norm():
    text = run("lora").recording.draw_graph().text
    assert re.search(r"net.0.lora_a = .*, \.grad norm \d", text)


def test_accumulated_gradients_were_cleared_at_the_end():
    found = asked("accumulation", "net.0.weight")
    assert found.reason == "cleared"
    assert "zero_grad()" in found.sentence


def test_gradients_arrive_through_half_precision():
    assert asked("autocast", "net.0.weight").reason == "has_grad"
    assert run("autocast").recording.cuts == []


def test_a_checkpoint_cuts_nothing():
    assert run("checkpointing").recording.cuts == []
    text = run("checkpointing").recording.draw_graph().text
    assert "A gradient of loss reaches x, " in text


def test_a_reentrant_checkpoint_cuts_nothing():
    recording = run("checkpointing_reentrant").recording
    text = recording.draw_graph().text
    assert "A gradient of loss reaches x, " in text
    assert recording.cuts == []


def test_a_gradient_flows_through_a_gradient():
    text = run("second_order").recording.draw_graph().text
    assert text.endswith(
        "A gradient of loss reaches x, critic.0.weight, critic.0.bias, "
        "critic.2.weight and critic.2.bias."
    )


def test_a_gradient_with_a_graph_is_not_told_to_have_no_history():
    assert "no history" not in run("second_order").recording.draw_graph().text


def test_a_penalty_on_a_slope_leaves_the_last_bias_without_a_gradient():
    source = networks.program("second_order")
    source = source.replace(
        "loss = score / 5 + 10 * penalty", "loss = penalty"
    )
    recording = record_code(source)
    found = recording.why_no_grad("critic.2.bias")
    assert found.reason == "unused"
    assert "does not depend on critic.2.bias" in found.sentence
    assert recording.why_no_grad("critic.2.weight").reason == "has_grad"


def test_a_loss_of_gradients_is_not_computed_from_what_they_are_of():
    found = asked("maml", "inner")
    assert found.reason == "unused"
    assert "gradients of inner" in found.sentence


def test_the_beginning_of_maml_learns():
    assert asked("maml", "net.0.weight").reason == "has_grad"


# -- models of other packages, where these are installed


def timm_model(name, size=64):
    timm = needed("timm")
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=7)
    return model, model(torch.randn(2, 3, size, size)).logsumexp(1).sum()


def gpt2_of_transformers():
    transformers = needed("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=2,
        n_embd=32,
        n_head=2,
        vocab_size=100,
        bos_token_id=0,
        eos_token_id=0,
        attn_pdrop=0.0,
    )
    model = transformers.GPT2LMHeadModel(config)
    tokens = torch.randint(100, (2, 8))
    return model, model(tokens, labels=tokens).loss


def bert_of_transformers():
    transformers = needed("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        num_hidden_layers=2,
        hidden_size=32,
        num_attention_heads=2,
        intermediate_size=64,
        vocab_size=100,
    )
    model = transformers.BertForSequenceClassification(config)
    tokens = torch.randint(100, (2, 8))
    return model, model(tokens, labels=torch.tensor([0, 1])).loss


def needed(package):
    """Import a package, or skip: it is not installed, or does not fit."""
    try:
        return __import__(package)
    except (ImportError, RuntimeError) as error:
        return pytest.skip(
            f"{package} with random weights is an extra test: "
            f"pip install {package} ({error})"
        )


OTHERS = {
    "resnet18": lambda: timm_model("resnet18"),
    "vit_tiny": lambda: timm_model("vit_tiny_patch16_224", 224),
    "mobilenetv3": lambda: timm_model("mobilenetv3_small_050"),
    "gpt2": gpt2_of_transformers,
    "bert": bert_of_transformers,
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_of_another_package_does_the_same_when_recorded(name):
    model, loss = OTHERS[name]()
    loss.backward()
    plain = gradients(model)
    with record() as recording:
        model, loss = OTHERS[name]()
        loss.backward()
    assert same(plain, gradients(model))
    assert recording.problems == []
    assert f"{nodes(loss)[0]} operations" in draw_graph(loss, model).alt
