"""What `verify` says, in Chinese: the runtime speaks English, and each of its sentences has its translation beside it.

`{}` stands for what the sentence is filled with; that is translated, too, where it is a sentence itself.
"""

from __future__ import annotations

import re
from functools import cache

from ..language import language

_SENTENCES = (
    # -- what cannot be run
    ("{} asks for the numbers of a tensor, which a dry run does not have ({}): use --numbers for what follows",
     "{} 需要张量的数值，而空跑没有数值（{}）：后面的部分请用 --numbers"),
    ("{} asks for the numbers of a tensor, which a dry run does not have: the condition was taken as true, {} times",
     "{} 需要张量的数值，而空跑没有数值：该条件按真处理，共 {} 次"),
    ("{} calls what only a GPU can do: keep it out of constructors and forward, or behind torch.cuda.is_available()",
     "{} 调用了只有 GPU 才能做的事：不要放在构造函数和 forward 里，或放在 torch.cuda.is_available() 之后"),
    ("{} (it takes more memory than --memory allows)", "{}（所需内存超过 --memory 的限额）"),
    ("{} (the model is built here, so what it reads must be there)", "{}（模型要在本机构造，它读取的文件必须存在）"),
    ("{} is needed here, but its package is not installed", "此处需要 {}，但没有安装它所在的包"),
    ("MissingModuleError: {} is needed here, but its package is not installed",
     "MissingModuleError：此处需要 {}，但没有安装它所在的包"),
    ("{} stages cannot fill {} pipeline ranks: lower --pp", "{} 个 stage 填不满 {} 个流水线 rank：请减小 --pp"),
    ("the process {} in {}, in {}", "进程{}，停在 {}，正在 {}"),
    ("the process {} in {}", "进程{}，停在 {}"),
    ("the process {}, in {}", "进程{}，当时正在 {}"),
    ("the process {}", "进程{}"),
    ("did not end within {} s", "在 {} 秒内没有结束"),
    ("waits for a rank that failed", "在等待已失败的 rank"),
    ("ended with status {} and no result", "以状态 {} 结束，没有给出结果"),
    ("was killed by {} (out of memory?)", "被 {} 终止（内存不足？）"),
    ("was killed by {}", "被 {} 终止"),
    ("{} ended with {} before it called pretrain", "{} 在调用 pretrain 之前就以 {} 结束"),
    ("{} never calls pretrain(...): is it the training script?", "{} 没有调用 pretrain(...)：它是训练脚本吗？"),
    ("{} imports no pretrain: is it the training script?", "{} 没有导入 pretrain：它是训练脚本吗？"),
    ("{} has no class {}", "{} 中没有类 {}"),
    ("{} needs {}: give {}", "{} 需要 {}：请给出 {}"),
    ("numbers are not compared: what the original takes could not be told ({}): give --input or --original",
     "没有比较数值：看不出原始模型的输入（{}）；请给出 --input 或 --original"),
    ("numbers are not computed: {} the comparison takes about {} s and {} GiB for each process. Make it smaller with "
     "--set, or allow --limit {} --memory {}",
     "没有计算数值：{} 比较约需每个进程 {} 秒、{} GiB。请用 --set 改小，或放宽到 --limit {} --memory {}"),
    ("at these sizes", "按现在的尺寸"),
    ("{} cannot be made smaller, and at its size", "{} 无法改小，按它的尺寸"),
    ("no original model was found: names and shapes of parameters are not compared",
     "没有找到原始模型：不比较参数的名称和形状"),
    ("no original model was found: name it with --original to compare numbers",
     "没有找到原始模型：请用 --original 指明，才能比较数值"),
    ("there is no original: the same model on one tensor-parallel rank stands for it",
     "没有原始模型：以同一模型在单个张量并行 rank 上的结果为准"),
    ("the original could not be built ({}; {})", "原始模型无法构造（{}；{}）"),
    ("the original refuses what was tried: {}", "原始模型拒绝了试过的输入：{}"),
    ("the data sets: {}", "数据集：{}"),
    ("forward_step_func needs what is not here ({})", "forward_step_func 需要这里没有的东西（{}）"),
    ("{}: what the model takes could not be told; give it with --input 1,CHANNELS,ROWS,COLUMNS",
     "{}：看不出模型的输入；请用 --input 1,通道,行,列 给出"),
    ("{} keeps its size: with a smaller one the original refuses ({})", "{} 保持原尺寸：更小时原始模型拒绝（{}）"),
    ("stage {} has no sharded_state_dict: saving is not tried", "stage {} 没有 sharded_state_dict：不尝试保存"),
    # -- shapes
    ("with --recompute-granularity full: {}", "使用 --recompute-granularity full 时：{}"),
    ("the schedule reads `config` of every stage (get_model_config); this one has none, or None",
     "调度会读取每个 stage 的 `config`（get_model_config）；这个 stage 没有，或为 None"),
    ("its result has no gradient: backward cannot reach this stage", "它的结果没有梯度：反向到不了这个 stage"),
    ("received tensor {} is changed in place", "收到的第 {} 个张量被原地修改"),
    ("received tensor {} gets no gradient, which the stage before waits for",
     "收到的第 {} 个张量没有得到梯度，而前一个 stage 在等它"),
    ("sends {}: only tensors cross a boundary", "发送了 {}：只有张量能跨过边界"),
    ("sends {} tensors, but stage_shapes says {}", "发送了 {} 个张量，而 stage_shapes 写的是 {} 个"),
    ("sends tensor {} as {}, but the pipeline carries {}", "第 {} 个张量以 {} 发送，而流水线传的是 {}"),
    ("sends tensor {} that is not contiguous", "发送的第 {} 个张量不连续"),
    ("sends {}, but stage_shapes says {}", "发送的是 {}，而 stage_shapes 写的是 {}"),
    ("tensor {} that it sends has no gradient", "它发送的第 {} 个张量没有梯度"),
    ("{} of {} gets no gradient: it takes no part in the loss", "{1} 的 {0} 没有梯度：它没有参与损失"),
    ("loss_func returns num_tokens as {}: the schedule adds them to a whole number, and fails",
     "loss_func 以 {} 返回 num_tokens：调度把它加到整数上，会失败"),
    ("the step calls {} itself: the other side waits for what the schedule sends, and both wait for ever",
     "训练步自己调用了 {}：另一边在等调度发来的东西，双方会一直等下去"),
    ("two rolls do not undo each other: {}; what is added to it lies elsewhere",
     "两次 roll 没有互相抵消：{}；与之相加的值在别的位置"),
    ("collective {} differs: rank {} enters {} of {} at {}, rank {} enters {} of {} at {}; on GPUs they wait for each "
     "other for ever",
     "第 {} 个集合通信不同：rank {} 进入 {}（{}，在 {}），rank {} 进入 {}（{}，在 {}）；在 GPU 上它们会互相永远等待"),
    ("collective {} differs: rank {} enters {} of {} at {}, rank {} enters {}; on GPUs they wait for each other for "
     "ever", "第 {} 个集合通信不同：rank {} 进入 {}（{}，在 {}），rank {} 进入{}；在 GPU 上它们会互相永远等待"),
    ("collective {} differs: rank {} enters {}, rank {} enters {} of {} at {}; on GPUs they wait for each other for "
     "ever", "第 {} 个集合通信不同：rank {} 进入{}，rank {} 进入 {}（{}，在 {}）；在 GPU 上它们会互相永远等待"),
    ("{} is {} over all ranks, but {} in the original", "{} 在所有 rank 上合起来是 {}，而原始模型中是 {}"),
    ("no stage has {} and {} more of {}", "没有一个 stage 含有 {0}，以及 {2} 的另外 {1} 个参数"),
    ("no stage has {}", "没有一个 stage 含有 {}"),
    ("{} has no counterpart in the original", "{} 在原始模型中没有对应"),
    ("{} and {} more parameters of {} have no counterpart in the original",
     "{0} 以及 {2} 的另外 {1} 个参数在原始模型中没有对应"),
    ("sharded_state_dict saves {} as {}, but all ranks together hold {}",
     "sharded_state_dict 把 {} 存成 {}，而所有 rank 合起来是 {}"),
    ("the {} stages hold {} parameters together, and the model on one rank {}: some layers are in no stage",
     "{} 个 stage 合起来有 {} 个参数，而单个 rank 上的模型有 {} 个：有些层不在任何 stage 中"),
    ("none more", " 0 个"),
    ("a comparison of this command", "本命令的一次比较"),
    ("on stage {} the provider does not return (training, validation, test) data",
     "在 stage {} 上，provider 没有返回（训练、验证、测试）数据"),
    ("on stage {} the provider returns a DataLoader: return the Dataset",
     "在 stage {} 上，provider 返回了 DataLoader：请返回 Dataset"),
    ("on stage {} the provider returns no training data, which this stage needs",
     "在 stage {} 上，provider 没有返回训练数据，而这个 stage 需要它"),
    ("sample 0 of the training data is another one on each tensor-parallel rank: the data set draws at random, and "
     "nothing makes the ranks draw alike",
     "训练数据的第 0 个样本在各张量并行 rank 上不同：数据集随机抽取，而没有什么让各 rank 抽得一样"),
    ("loss_func returns a loss of shape {}: it must be one number", "loss_func 返回的损失形状为 {}：它必须是一个数"),
    ("loss_func returns {}, not (loss, num_tokens, report)",
     "loss_func 返回的是 {}，而不是 (loss, num_tokens, report)"),
    ("loss_func does not return (loss, num_tokens, report)", "loss_func 没有返回 (loss, num_tokens, report)"),
    ("{} {}: land and ocean were made up", "{} {}：海陆分布是编造的"),
    ("is not here", "不在这里"),
    ("has {} cells, not {}", "的格点是 {}，而不是 {}"),
    ("stage {}: nothing says what it receives", "stage {}：看不出它会收到什么"),
    ("stage {} keeps no gradients: backward is not run", "stage {} 不保留梯度：不运行反向"),
    ("{} modules get no gradient, {} first", "{} 个模块没有得到梯度，第一个是 {}"),
    ("{} is a shard of {} and is not marked as one (tensor_model_parallel): checkpoints and gradient norms take it for "
     "a whole", "{} 是 {} 的分片，却没有标明（tensor_model_parallel）：检查点和梯度范数会把它当成整体"),
    ("{} is marked as cut in dimension {}, but it is cut in dimension {}", "{} 标为沿第 {} 维切分，实际沿第 {} 维切分"),
    ("{} of {} parameter names are not the original's, {} first: a checkpoint of the original cannot be loaded. Give a "
     "naming table with --names to compare the rest",
     "{1} 个参数名中有 {0} 个不是原始模型的，第一个是 {2}：原始模型的检查点无法载入。"
     "请用 --names 给出命名表，以便比较其余部分"),
    ("{} and {} have no counterpart in the original", "{} 以及 {} 在原始模型中没有对应"),
    ("{} more parameters of {}", "{1} 的另外 {0} 个参数"),
    ("axis {} by {} and back by {}", "第 {} 轴移 {}，移回 {}"),
    ("model_provider returned {} for stage {}, not a module", "model_provider 为 stage {1} 返回了 {0}，而不是模块"),
    ("the script hands over no forward_step_func", "脚本没有交出 forward_step_func"),
    ("forward_step_func takes batches of another form than (input, label): {}",
     "forward_step_func 接受的批次不是 (输入, 标签) 的形式：{}"),
    # -- numbers
    ("the batch loses precision on its way to the model: it is off by {} of its largest number",
     "批次在到达模型之前损失了精度：相差其最大值的 {}"),
    ("the tensor-parallel ranks read different batches: each computes its part of another sample",
     "各张量并行 rank 读到的批次不同：每个 rank 算的是另一个样本的一部分"),
    ("the loss is a mean already, and num_tokens divides it once more: it is {} times too small",
     "损失已经是均值，又被 num_tokens 除了一次：小了 {} 倍"),
    ("the loss is a sum over {} values that nothing divides: gradients grow with the grid",
     "损失是 {} 个值的和，没有除数：梯度随网格增大"),
    ("{} gets no gradient", "{} 没有得到梯度"),
    ("no original was found", "没有找到原始模型"),
    ("the original refuses small sizes ({}): its own are taken, or give them with --set",
     "原始模型拒绝小尺寸（{}）：采用它自己的尺寸，或用 --set 给出"),
    ("{} is {} here and {} on one rank", "{} 在这里是 {}，而在单个 rank 上是 {}"),
    ("{} is {} here and {} in the original", "{} 在这里是 {}，而在原始模型中是 {}"),
    ("the model does not run on one rank, so there is nothing to compare with: {}",
     "模型在单个 rank 上跑不起来，因此没有可比较的对象：{}"),
    ("it sends something that is no tensor", "它发送了不是张量的东西"),
    ("backward cannot reach this stage: nothing that it sends has a gradient",
     "反向到不了这个 stage：它发送的东西都没有梯度"),
    ("a field that is the same everywhere stays so at {} of the tokens: the others attend to what lies beside the "
     "grid, such as padding that is not blocked",
     "处处相同的场只在 {} 的 token 上保持不变：其余的会关注网格以外的东西，例如没有屏蔽的填充"),
    ("Megatron's dist_checkpointing does not take it: {}", "Megatron 的 dist_checkpointing 不接受它：{}"),
    ("no parameter of the stages has a name of the original's: give a table with --names",
     "stage 的参数没有一个与原始模型同名：请用 --names 给出对照表"),
    ("{}; the first difference is in {}", "{}；最早的差别在{}"),
    ("its output", "它的输出"),
    ("the gradient of its input", "它输入的梯度"),
    ("what it hands to {}", "它交给 {} 的值"),
    ("what it hands to {}, unless a stage before sends that", "它交给 {} 的值，除非那就是前面的 stage 发来的"),
    ("the gradient that it hands back to {}", "它交回给 {} 的梯度"),
    ("{}; stage {} sends tensor {}, which is nothing that the original computes",
     "{}；stage {} 发送的第 {} 个张量是原始模型没有算过的"),
    ("{}; no module that both models name alike shows where it begins", "{}；两个模型同名的模块都看不出它从哪里开始"),
    ("the result is off by {} of its largest number", "结果与原始模型相差其最大值的 {}"),
    ("the result has shape {}, the original's {}", "结果的形状是 {}，原始模型是 {}"),
    ("{}, and those of {} more parameters", "{}，另有 {} 个参数也是"),
    ("the gradient of {} is off by {} times what rounding explains", "{} 的梯度相差舍入所能解释的 {} 倍"),
    ("the gradient of the input is off by {} times what rounding explains", "输入的梯度相差舍入所能解释的 {} 倍"),
    ("the loss of step {} is {}, the original's {}", "第 {} 步的损失是 {}，原始模型是 {}"),
    ("the loss does not depend on what the model returns: every gradient is zero",
     "损失与模型的返回值无关：所有梯度都是零"),
    ("{} is split, yet every tensor-parallel rank starts with the same shard",
     "{} 是切分的，而每个张量并行 rank 都以相同的分片开始"),
    ("{} is not marked as split, yet the tensor-parallel ranks start it differently",
     "{} 没有标为切分，而各张量并行 rank 的初值不同"),
    ("a split value is dropped by draws that all ranks share: the same places of each shard",
     "切分的值按所有 rank 相同的随机数丢弃：每个分片丢的是同样的位置"),
    ("a value that all tensor-parallel ranks hold is dropped by draws of each rank's own: they part here",
     "所有张量并行 rank 共有的值按各自的随机数丢弃：它们从这里开始不同"),
    ("with dropout on, the tensor-parallel ranks return different results",
     "打开 dropout 时，各张量并行 rank 返回不同的结果"),
    ("the gradient of {}, which every tensor-parallel rank holds, differs: they train apart",
     "每个张量并行 rank 都持有的 {} 的梯度不同：它们会训练得各不相同"),
    ("saved and loaded by Megatron's dist_checkpointing, {} comes back as the shard of another rank",
     "经 Megatron 的 dist_checkpointing 保存再读回，{} 变成了别的 rank 的分片"),
    ("saved and loaded by Megatron's dist_checkpointing, {} is not saved",
     "经 Megatron 的 dist_checkpointing 保存时，{} 没有存下来"),
    ("{} of the original: {}", "原始模型的 {}：{}"),
    ("tokens do not depend on themselves: they come back in other places than they went in",
     "token 不依赖于自身：它们出来的位置与进去的不同"),
    # -- around
    ("{}: no such file", "{}：没有这个文件"),
    ("verify needs {}, which is not installed: pip install 'onescience-check[runtime]'",
     "verify 需要 {}，但没有安装：pip install 'onescience-check[runtime]'"),
    ("{}: write KEY=VALUE, the key with dots: model.embed_dim=16", "{}：请写成 键=值，键用点分隔：model.embed_dim=16"),
    ("{}, made by {} ({})", "{}，由 {} 生成（{}）"),
    ("--set {}: no configuration file that was read has this key", "--set {}：读过的配置文件里没有这个键"),
)  # fmt: skip

LABELS = {
    "no findings": "没有问题",
    "finding": "个问题",
    "(no line of yours)": "（不在你的代码里）",
    "in": "位于",
    "tensor-parallel rank": "张量并行 rank",
    "it was given": "它得到的是",
    "called from": "调用自",
    "not looked at": "没有查看",
    "tensor-parallel x pipeline": "张量并行 × 流水线",
    "shapes": "形状",
    "numbers": "数值",
    "costs of each stage on one rank, per micro-batch (traced)":
    "每个 stage 在一个 rank 上的开销，按 micro-batch（实测跟踪）",
    "stage": "stage",
    "parameters": "参数",
    "GFLOP forward + backward": "前向 + 反向 GFLOP",
    "of the mean": "与均值之比",
    "of the mean, by reading": "与均值之比（静态估计）",
    "reading and trace disagree, by layers that are no blocks or by a fault of this tool (please report it)":
    "静态估计与跟踪不一致：有不算块的层，或是本工具的错误（请报告）",
    "kept for backward, MiB": "为反向保留，MiB",
    "sent, MiB": "发送，MiB",
    "(more than 20 % off)": "（相差超过 20 %）",
    "stages": "stage 数",
    "ranks": "rank 数",
    "original": "原始模型",
    "input": "输入",
    "sizes": "尺寸",
    "flops of the original, forward": "原始模型前向的运算量",
    "bubble": "气泡",
    "GiB of each pipeline rank": "每个流水线 rank 的 GiB",
    "output, largest relative difference": "输出的最大相对误差",
    "loss of three steps": "三步的损失",
    "the original's": "原始模型的",
    "of parameters, gradients and Adam": "为参数、梯度和 Adam",
}  # fmt: skip


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """The sentences, those that say most first."""
    ordered = sorted(_SENTENCES, key=lambda pair: -len(pair[0].replace("{}", "")))
    return [
        (re.compile(re.escape(english).replace(r"\{\}", "(.+?)"), re.DOTALL), chinese)
        for english, chinese in ordered
    ]


def said(text: str) -> str:
    """A message of `verify` in the language of the reader; in English what has no translation."""
    if language() != "zh":
        return text
    for pattern, chinese in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            return chinese.format(*map(said, found.groups()))
    return text


def label(name: str) -> str:
    """A heading or a word of the frame in the language of the reader."""
    return LABELS.get(name, name) if language() == "zh" else name
