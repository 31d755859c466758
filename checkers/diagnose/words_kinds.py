"""What is said of each kind of failure, in English and Chinese: what it means, what must be true, what to type, where to look."""

from __future__ import annotations

from dataclasses import dataclass

_MODELS = "reference_models/models/pangu_distributed_4stage"
_MODULES = "reference_models/modules"
_TRAIN = "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"

Both = tuple[str, str]


@dataclass(frozen=True)
class KindWords:
    """`title` names it; `test` says what would have to be true where no finding explains it; `fix` what to type."""

    title: Both
    test: Both
    fix: Both
    reference: str


WORDS: dict[str, KindWords] = {
    "pair-as-tensor": KindWords(
        ("the (output, bias) pair of a parallel layer is used as a tensor", "并行层返回的 (output, bias) 元组被当作张量使用"),
        ("a Column- or RowParallelLinear is called, and its result goes on whole", "某个 Column/RowParallelLinear 的返回值没有解包就继续使用"),
        ("take the tensor out: `x, _ = self.proj(x)` or `self.proj(x)[0]`", "取出张量：`x, _ = self.proj(x)` 或 `self.proj(x)[0]`"),
        f"{_MODULES}/mlp/pangudistributedmlp.py",
    ),
    "list-as-tensor": KindWords(
        ("a list is used as a tensor: the schedule hands a stage a list", "列表被当作张量使用：流水线调度交给 stage 的是列表"),
        ("`self.input_tensor` is a list where the stage uses it, or a layer got a list of settings instead of its own one",
         "stage 使用 `self.input_tensor` 时它是列表；或某层拿到的是整张配置列表而不是自己的那一项"),
        ("unpack what was received: `x, skip = self.input_tensor`; give each layer its own entry",
         "先解包：`x, skip = self.input_tensor`；逐层传入各自的那一项"),
        f"{_MODELS}/pangu_stage1.py",
    ),
    "widths-do-not-fit": KindWords(
        ("the last dimension of the input is not what the layer multiplies", "输入的最后一维与该层的权重对不上"),
        ("`input_is_parallel` says another thing than what the input is: split by the layer before, or whole after a Row layer, "
         "a gather or a concatenation; or a size was divided by tp twice, or not at all",
         "`input_is_parallel` 与实际输入不符：上一层是否切分、Row/gather/cat 之后是否已还原为全维；或某个尺寸被 tp 除了两次或没有除"),
        ("write what the input is: `input_is_parallel=True` for a split one, `False` for a whole one; divide sizes of plain "
         "code by tp once", "按输入的真实状态填写：已切分用 `input_is_parallel=True`，全维用 `False`；普通代码里的尺寸只除一次 tp"),
        f"{_MODULES}/sample/pangudistributedupsample.py",
    ),
    "shapes-do-not-fit": KindWords(
        ("two shapes do not fit", "两个形状对不上"),
        ("a tensor holds one rank's share where the code counts with the whole, or the other way round; or two values are "
         "swapped on the way here", "代码按全维计算而张量只有本 rank 的一份（或相反）；或到这里的路上两个值被调换"),
        ("count with the share of one rank (`// tp`), or gather first; keep the order of what is sent and received",
         "按每个 rank 的份额计算（`// tp`）或先 gather；发送与接收保持同一顺序"),
        f"{_MODULES}/attention/earthdistributedattention3d.py",
    ),
    "heads-not-divisible": KindWords(
        ("a size is no multiple of what divides it", "尺寸不能被整除"),
        ("a number of heads, channels or layers is no multiple of the tensor- or pipeline-parallel size",
         "注意力头数、通道数或层数不是 tp（或 pp）的整数倍"),
        ("choose a multiple in the configuration, or a smaller --tensor-model-parallel-size", "在配置里改成整数倍，或减小 --tensor-model-parallel-size"),
        "reference_models/examples/earth/pangu_weather_distributed_4stage/conf/config.yaml",
    ),
    "wrapped-attribute-missing": KindWords(
        ("Megatron looks for an attribute that the stage does not have", "Megatron 在 stage 上找不到它要读取的属性"),
        ("a stage does not set `config`, `pre_process`, `share_embeddings_and_output_weights` or `input_tensor` in `__init__`",
         "某个 stage 的 `__init__` 没有设置 `config`、`pre_process`、`share_embeddings_and_output_weights` 或 `input_tensor`"),
        ("set it in the `__init__` of every stage: `self.config = config`", "在每个 stage 的 `__init__` 里设置：`self.config = config`"),
        f"{_MODELS}/pangu_stage1.py",
    ),
    "attribute-missing": KindWords(
        ("an object does not have the attribute that is read", "对象没有被读取的那个属性"),
        ("the class never sets it, sets it on some ranks or stages only, or the object is another one than the code believes",
         "该类从未设置它、只在部分 rank/stage 上设置，或对象并不是代码以为的那个"),
        ("set it in `__init__` on every path, or ask which stage this is before it is read", "在 `__init__` 的每条路径上设置，或读取前先判断所在 stage"),
        f"{_MODELS}/pangu_stage1.py",
    ),
    "unpacking": KindWords(
        ("another number of values comes than is taken", "解包的个数与实际个数不符"),
        ("a stage sends another number of tensors than the next one takes, `set_input_tensor` keeps only one of them, or the "
         "loss function returns or takes another number than the schedule",
         "上一 stage 发送的张量个数与下一 stage 解包的不同、`set_input_tensor` 只保留了一个，或损失函数的返回个数与调度不符"),
        ("take what is sent: `x, skip = self.input_tensor`; return `loss, num_tokens, {name: value}` from the loss function",
         "按发送的个数解包：`x, skip = self.input_tensor`；损失函数返回 `loss, num_tokens, {name: value}`"),
        f"{_MODELS}/pangu_stage1.py",
    ),
    "p2p-mismatch": KindWords(
        ("what one stage sends is not what the next one expects: count, order, shape or type",
         "一个 stage 发送的与下一个期望的不一致：个数、顺序、形状或类型"),
        ("`stage_shapes` says something else than the `return` of the stage's forward", "`stage_shapes` 与该 stage forward 的 `return` 不一致"),
        ("make the entry of `stage_shapes` and the returned tuple agree, in number, order, shape and type",
         "让 `stage_shapes` 的该项与返回的元组在个数、顺序、形状、类型上一致"),
        _TRAIN,
    ),
    "not-contiguous": KindWords(
        ("a tensor is sent whose memory is not in order", "发送的张量内存不连续"),
        ("it comes from transpose, permute, expand or a slice", "它来自 transpose、permute、expand 或切片"),
        ("`.contiguous()` right before it is returned", "返回前加 `.contiguous()`"),
        f"{_MODELS}/pangu_stage1.py",
    ),
    "transpose-of-many": KindWords(
        ("`t()` got a tensor of more than two dimensions: a weight was expected", "`t()` 得到了超过二维的张量：这里应当是权重"),
        ("arguments of a linear call are swapped, or a bias or pair stands where the weight belongs", "linear 的参数位置错了，或把 bias/元组放在了权重的位置"),
        ("call the layer itself, `self.proj(x)[0]`, instead of its weight", "直接调用该层 `self.proj(x)[0]`，不要直接使用它的权重"),
        f"{_MODULES}/mlp/pangudistributedmlp.py",
    ),
    "dtype-mismatch": KindWords(
        ("two tensors have different types", "两个张量的数据类型不同"),
        ("the data is double or half while the model is float32 or bf16, or a boundary or the token count has another type",
         "数据是 double/half 而模型是 float32/bf16；或边界张量、token 计数的类型不同"),
        ("`.float()` where the batch is read; cast before a stage returns; count tokens in an integer tensor",
         "读取 batch 处加 `.float()`；stage 返回前转换类型；token 计数用整型张量"),
        _TRAIN,
    ),
    "no-gradient": KindWords(
        ("a tensor has no gradient where one is sent back", "需要回传梯度的张量没有梯度"),
        ("what a stage received does not take part in what it returns, is detached, is an integer, or `no_grad` is on",
         "stage 收到的张量没有参与其输出、被 detach、是整型，或处于 `no_grad` 之中"),
        ("let every received float tensor contribute to the returned ones; send no integers or masks",
         "让每个收到的浮点张量都参与输出；不要跨 stage 传整型或 mask"),
        f"{_MODELS}/pangu_stage1.py",
    ),
    "changed-in-place": KindWords(
        ("a tensor that autograd still needs is changed in place", "autograd 仍需要的张量被原地修改"),
        ("a received tensor, or a view of one, is changed by `+=`, `x[...] =` or a function ending in `_`",
         "收到的张量（或其视图）被 `+=`、`x[...] =` 或以 `_` 结尾的函数修改"),
        ("write `x = x + y` instead of `x += y`", "用 `x = x + y` 代替 `x += y`"),
        f"{_MODELS}/pangu_stage2.py",
    ),
    "unexpected-argument": KindWords(
        ("a call gives other arguments than the function or class takes", "调用给出的参数与函数或类接受的不符"),
        ("the class chosen by `style` has other parameters than the call, the config is not handed on, or a function is bound wrongly",
         "`style` 选中的类参数不同、config 没有继续传递，或函数绑定有误"),
        ("give what the class takes; pass `config=config` on to every parallel layer", "按该类的参数传入；把 `config=config` 传到每个并行层"),
        f"{_MODULES}/fuser/pangudistributedfuser.py",
    ),
    "stop-iteration": KindWords(
        ("the data of one rank ran out before that of the others", "某个 rank 的数据先耗尽"),
        ("stages between the first and the last read data, iterators have different lengths, or several chunks share one",
         "中间 stage 也在读数据、各 rank 迭代器长度不同，或多个 chunk 共用一个迭代器"),
        ("read with `next(data_iterator)` on the first and the last stage only", "只在首尾 stage 调用 `next(data_iterator)`"),
        _TRAIN,
    ),
    "timed-out": KindWords(
        ("ranks waited for others until their time was over", "部分 rank 一直等待其他 rank 直到超时"),
        ("some ranks do not come to a collective or transfer that the others are in: it stands under a test of the rank, behind an "
         "early return, or what one stage sends is not what the other receives",
         "部分 rank 没有进入其他 rank 所在的集合通信或收发：它处在按 rank 的条件之下、在提前返回之后，或发送与接收不配对"),
        ("let every rank of the group reach the call, in the same order", "让组内每个 rank 以同样顺序到达该调用"),
        _TRAIN,
    ),
    "value-is-none": KindWords(
        ("a value is None where a tensor or object is needed", "需要张量或对象的地方是 None"),
        ("only some ranks or stages read or make it, a function ends without `return`, or the received tensor is not handed to the "
         "inner module", "只有部分 rank/stage 读取或生成它、函数没有 `return`，或收到的张量没有交给内部模块"),
        ("make it on every rank that uses it; end every path of a forward in `return`", "在使用它的每个 rank 上生成；forward 的每条路径都要 `return`"),
        _TRAIN,
    ),
    "out-of-memory": KindWords(
        ("the memory of a GPU is full", "显存不足"),
        ("this stage holds more than the others: more layers, logits or a plain layer that is not split, or nothing is recomputed",
         "该 stage 负担更重：层数更多、有 logits、有未切分的普通层，或没有做重计算"),
        ("checkpoint the blocks (`checkpoint(self.layer, False, x)`), move layers to another stage, split the layer, or lower "
         "--micro-batch-size", "对模块做 checkpoint（`checkpoint(self.layer, False, x)`）、把层移到别的 stage、切分该层，或减小 --micro-batch-size"),
        f"{_MODELS}/pangu_stage0.py",
    ),
    "circular-import": KindWords(
        ("modules import each other in a circle", "模块循环导入"),
        ("a distributed module imports a wrapper (`OneFuser` …) that imports it", "分布式模块导入了会反过来导入它的包装类（`OneFuser` 等）"),
        ("import the class from its own file, or inside the function that needs it", "直接从该类所在文件导入，或放到使用它的函数内部导入"),
        f"{_MODULES}/fuser/pangudistributedfuser.py",
    ),
    "import-missing": KindWords(
        ("a name or module that is imported does not exist", "导入的名字或模块不存在"),
        ("a registry or import names a class or file that is spelt otherwise, or a package is not installed",
         "注册表或导入语句里的类名/文件名拼写不同，或缺少某个包"),
        ("correct the name where it is imported or registered", "在导入或注册处改正名字"),
        f"{_MODULES}/sample/onesample.py",
    ),
    "duplicate-gpu": KindWords(
        ("two ranks use the same GPU", "两个 rank 使用了同一块 GPU"),
        ("a rank does not set its own device, or there are more ranks than GPUs on a machine", "某个 rank 没有设置自己的设备，或一台机器上的 rank 多于 GPU"),
        ("`torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))` before the process group, and --nproc-per-node at most the number of GPUs",
         "建立进程组之前 `torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))`，且 --nproc-per-node 不超过 GPU 数"),
        "runtime/process_groups.py",
    ),
    "checkpoint-load": KindWords(
        ("a checkpoint does not fit the model", "权重文件与模型不匹配"),
        ("a parameter has another name or size than in the file, or the whole of it is loaded where one rank's share belongs (or the "
         "other way round)", "参数名或尺寸与文件不同，或把完整权重装进了只需一份切片的 rank（或相反）"),
        ("give the layer the sizes of the original, mark split parameters with their axis, and load with the layout that was saved, "
         "or convert", "让该层使用原模型的尺寸、为切分参数标注切分轴，按保存时的布局加载或先转换"),
        f"{_MODULES}/attention/earthdistributedattention3d.py",
    ),
    "port-in-use": KindWords(
        ("the port of the rendezvous is taken", "会合端口已被占用"),
        ("an earlier run is still alive, or another job on this machine uses the port", "之前的任务仍在运行，或本机其他任务占用了该端口"),
        ("end the earlier run, or choose another: `torchrun --master-port 29511 …`", "结束之前的任务，或换一个端口：`torchrun --master-port 29511 …`"),
        "runtime/launch.py",
    ),
    "device-mismatch": KindWords(
        ("tensors lie on different devices", "张量位于不同设备"),
        ("a tensor is made in forward without `device=x.device`, or a module is kept where `.to()` does not find it",
         "forward 里新建张量没有写 `device=x.device`，或模块放在 `.to()` 找不到的容器里"),
        ("`device=x.device` where it is made, or register it as a buffer", "新建处写 `device=x.device`，或注册为 buffer"),
        f"{_MODULES}/attention/earthdistributedattention3d.py",
    ),
    "index-out-of-range": KindWords(
        ("an index lies outside what is indexed", "下标越界"),
        ("an index of the whole is used on one rank's share, or a list is shorter on this stage", "用全局下标索引本 rank 的一份，或该 stage 上的列表更短"),
        ("count from the first element of this rank", "按本 rank 的起点重新计算下标"),
        f"{_MODELS}/pangu_stage1.py",
    ),
    "configuration": KindWords(
        ("settings do not go together", "配置项互相矛盾"),
        ("the place that the message names says something that the code does not take", "消息指出的位置写了代码不接受的内容"),
        ("correct the key or value that the message names", "改正消息里指出的键或值"),
        "reference_models/examples/earth/pangu_weather_distributed_4stage/conf/config.yaml",
    ),
    "file-missing": KindWords(
        ("a file is not there", "文件不存在"),
        ("the path in the configuration is another one on this machine", "配置里的路径在这台机器上不同"),
        ("correct the path", "改正路径"),
        "reference_models/examples/earth/pangu_weather_distributed_4stage/conf/config.yaml",
    ),
    "nccl-failed": KindWords(
        ("NCCL itself failed", "NCCL 自身出错"),
        ("the driver, network or a group is at fault, or ranks make different calls", "驱动、网络或通信组有问题，或各 rank 调用不一致"),
        ("run once with NCCL_DEBUG=INFO and read the first WARN line", "用 NCCL_DEBUG=INFO 再运行一次，看第一条 WARN"),
        "runtime/process_groups.py",
    ),
    "peer-lost": KindWords(
        ("the ranks in this log lost another one, whose own failure is not in it", "日志里的 rank 只是失去了对端，真正出错的 rank 不在这份日志中"),
        ("the log of the rank that is gone says why", "消失的那个 rank 的日志里写着原因"),
        ("collect the output of all ranks: `torchrun --tee 3 --log-dir logs …`, then `onescience-check diagnose logs`",
         "收集所有 rank 的输出：`torchrun --tee 3 --log-dir logs …`，再运行 `onescience-check diagnose logs`"),
        "runtime/failure.py",
    ),
    "killed": KindWords(
        ("a process was killed from outside Python", "进程被 Python 之外的力量终止"),
        ("the machine ran out of memory (exit code -9), native code crashed (-11, -6), or the scheduler ended the job (-15)",
         "主机内存耗尽（退出码 -9）、本地代码崩溃（-11、-6），或被调度系统终止（-15）"),
        ("look at `dmesg` of that machine for the out-of-memory killer; lower the workers of the data loader", "查看该机器的 `dmesg` 是否有 OOM killer；减少数据加载进程"),
        "runtime/launch.py",
    ),
    "interrupted": KindWords(
        ("the run was ended from outside, by hand or by the scheduler; nothing failed by itself", "运行被人工或调度系统从外部终止，自身没有失败"),
        ("if it had stopped moving: some ranks did not come to a collective or transfer that the others were in",
         "如果之前已经不再前进：部分 rank 没有进入其他 rank 所在的集合通信或收发"),
        ("to learn where a run that stands still is: `TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_NCCL_TRACE_BUFFER_SIZE=2000`, a short time-out "
         "(--distributed-timeout-minutes 2), then `diagnose` the folder of dumps",
         "要知道停在哪里：设置 `TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_NCCL_TRACE_BUFFER_SIZE=2000` 并缩短超时（--distributed-timeout-minutes 2），再对转储目录运行 `diagnose`"),
        _TRAIN,
    ),
    "loss-nan": KindWords(
        ("the loss is no number", "损失变成 NaN 或 Inf"),
        ("one rank computes other numbers than its peers (a bias added tp times, a partial sum used as a whole, another draw), or "
         "the learning rate, the data or half precision is at fault",
         "某个 rank 的数值与同组不同（bias 被加了 tp 次、部分和被当作总和、随机数不同），或学习率、数据、半精度有问题"),
        ("compare with one rank: `--numbers`; then lower the learning rate, add warm-up, check the data",
         "先与单 rank 对比（`--numbers`）；再降低学习率、增加 warm-up、检查数据"),
        "tests/parity/parity_world.py",
    ),
    "other": KindWords(
        ("an exception of the program", "程序抛出的异常"),
        ("what the message says is true at the line that raised it", "抛出异常的那一行满足消息所说的情形"),
        ("start at the first line below", "从下面第一行查起"),
        "",
    ),
    "none-seen": KindWords(
        ("no failure seen", "没有发现失败"),
        ("", ""),
        ("", ""),
        "",
    ),
}  # fmt: skip
