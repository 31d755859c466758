"""The sentences of a diagnosis, in English and Chinese."""

from __future__ import annotations

from .candidate import Reason
from .words_kinds import WORDS, Both

LANGUAGES = ("en", "zh")

SENTENCES: dict[str, Both] = {
    # why a place is suspected
    "raised-here": ("the exception comes from here", "异常从这里抛出"),
    "refused-here": ("this check refuses it; what it was given is at fault", "这里的检查拒绝了它；问题在传入的值"),
    "called-here": ("on the way to the exception", "在通往异常的调用路径上"),
    "made-here": ("`%(name)s` is made here", "`%(name)s` 在这里产生"),
    "received-here": ("`%(name)s` is received from the stage before", "`%(name)s` 从上一 stage 接收"),
    "bound-here": ("`%(name)s` is bound here", "`%(name)s` 在这里绑定"),
    "kept-in-part": ("only a part of what comes is kept as `%(name)s`", "只把收到内容的一部分存为 `%(name)s`"),
    "entry-here": ("the entry `%(name)s`, which is asked for", "被请求的条目 `%(name)s`"),
    "entry-set-here": ("the entry `%(name)s` is set here", "条目 `%(name)s` 在这里写入"),
    "handed-over-here": ("`%(name)s` is handed over here", "`%(name)s` 在这里传入"),
    "some-ranks-only": ("only the ranks for which this test holds come to the collective", "只有满足该条件的 rank 才会到达该集合通信"),
    "loss-contract": ("what the schedule takes from the loss function", "调度从 loss 函数取用的返回值"),
    "seeds-here": ("seeds the random streams", "在这里设置随机数种子"),
    "sizes-a-share-apart": ("the sizes are a share of a rank and the whole", "两个尺寸相差整数倍：一个 rank 的份额与完整尺寸"),
    "sizes-one-apart": ("the sizes are one apart", "两个尺寸相差 1"),
    "sizes-exchanged": ("two axes are exchanged", "两个轴被调换"),
    "said-otherwise": ("the name says one end of the pipeline, the call asks for the other", "变量名指流水线一端，调用却查询另一端"),
    "stage-flags-here": ("says which ends of the model a stage has", "在这里说明该 stage 拥有模型的哪一端"),
    "batch-declared-here": ("says the sizes that the transfers expect", "在这里声明传输所预期的尺寸"),
    "not-called": ("the layer `%(name)s` is handed over and not called", "层 `%(name)s` 被直接传入而没有调用"),
    "asks-not": ("calls for `%(name)s` without asking whether this rank has it", "没有判断本 rank 是否有 `%(name)s` 就使用"),
    "lacks-key": ("lacks the key %(name)s", "缺少键 %(name)s"),
    "default-taken": ("does not give `%(name)s`, so the default is taken", "没有传 `%(name)s`，于是使用默认值"),
    "no-gradient-here": ("no gradient passes here", "梯度无法通过这里"),
    "returned-here": ("`%(name)s` is what this returns", "`%(name)s` 是这里的返回值"),
    "only-under-this-test": ("`%(name)s` is set only where this test holds", "`%(name)s` 只在该条件成立时被赋值"),
    "other-order": ("the stages send these values in the other order", "各 stage 以相反的顺序发送这些值"),
    "crossed": ("arguments carry each other's names: %(name)s", "参数互相调换了名字：%(name)s"),
    "built-here": ("`%(name)s` is built here", "`%(name)s` 在这里构建"),
    "given-here": ("`%(name)s` of `%(cls)s` is given here", "`%(cls)s` 的 `%(name)s` 在这里传入"),
    "defined-here": ("`%(name)s` is defined here", "`%(name)s` 在这里定义"),
    "handed-on-here": ("`%(name)s` is handed on here", "`%(name)s` 在这里交出"),
    "keyword-not-taken": ("gives `%(name)s`, which `%(cls)s` does not take", "传入了 `%(cls)s` 不接受的 `%(name)s`"),
    "argument-left-out": ("builds `%(cls)s` without `%(name)s`", "构建 `%(cls)s` 时没有传 `%(name)s`"),
    "given-twice": ("`%(name)s` of `%(cls)s` is given by position and by name", "`%(cls)s` 的 `%(name)s` 被重复传入"),
    "class-lacks": ("`%(cls)s` does not have `%(name)s`", "`%(cls)s` 没有 `%(name)s`"),
    "names-it": ("names `%(name)s`", "写着 `%(name)s`"),
    "imports-it": ("imports `%(name)s`", "导入 `%(name)s`"),
    "parameter-set-here": ("the parameter `%(name)s` is made here", "参数 `%(name)s` 在这里创建"),
    "parameter-made-here": ("the size of `%(name)s` comes from here", "`%(name)s` 的尺寸来自这里"),
    "parameter-marked-here": ("says along which axis `%(name)s` is split", "标注 `%(name)s` 沿哪个轴切分"),
    "shape-declared-here": ("entry %(number)s of `stage_shapes`", "`stage_shapes` 的第 %(number)s 项"),
    "sent-here": ("what stage %(number)s sends", "stage %(number)s 发送的内容"),
    "set-in-yaml": ("sets `%(name)s`, which the message names", "设置了消息中提到的 `%(name)s`"),
    "style-named-here": ("asks for the style `%(name)s`", "请求样式 `%(name)s`"),
    "registry-of-styles": ("the registry that lacks `%(name)s`", "缺少 `%(name)s` 的注册表"),
    "finding-explains": ("the check finds %(symbol)s, which explains this kind", "静态检查发现 %(symbol)s，能解释这类失败"),
    "finding": ("the check finds %(symbol)s", "静态检查发现 %(symbol)s"),
    "evidence": ("in the chain of evidence of %(symbol)s", "在 %(symbol)s 的证据链上"),
    "on-the-traceback": ("the line is on the traceback", "该行在调用栈上"),
    "evidence-on-the-traceback": ("its evidence is on the traceback", "其证据在调用栈上"),
    "in-a-function-of-the-traceback": ("in a function of the traceback", "在调用栈经过的函数里"),
    "in-a-class-of-the-traceback": ("in a class of the traceback", "在调用栈经过的类里"),
    "named-in-the-message": ("the message names it", "消息提到了它"),
    "in-a-file-of-the-traceback": ("in a file of the traceback", "在调用栈经过的文件里"),
    # the report
    "read": ("%(lines)s lines of %(names)s, %(ranks)s", "读取 %(names)s，共 %(lines)s 行，%(ranks)s"),
    "ranks": ("ranks %(ranks)s", "rank %(ranks)s"),
    "no-ranks": ("no rank named", "没有标明 rank"),
    "first": ("rank %(rank)s failed first (line %(line)s of the log%(time)s)", "rank %(rank)s 最先失败（日志第 %(line)s 行%(time)s）"),
    "first-unnamed": ("the first failure is at line %(line)s of the log%(time)s; it does not say which rank",
                      "第一个失败在日志第 %(line)s 行%(time)s；日志没有标明 rank"),
    "alike": ("with the same error: ranks %(ranks)s", "同样的错误：rank %(ranks)s"),
    "unsure": ("The files of the log do not say which rank was first.", "日志不能说明哪个 rank 最先失败。"),
    "behind": ("rank %(ranks)s did not come to where the others wait", "rank %(ranks)s 没有到达其他 rank 等待的地方"),
    "waited": ("rank %(rank)s waited in %(where)s", "rank %(rank)s 在 %(where)s 中等待"),
    "lost": ("rank %(rank)s was in %(where)s when its peer was gone", "rank %(rank)s 在 %(where)s 中时对端消失"),
    "followed": ("rank %(rank)s followed: %(what)s", "rank %(rank)s 随之失败：%(what)s"),
    "last-call": ("rank %(rank)s last started %(operation)s no. %(number)s of %(group)s (%(state)s)%(place)s",
                  "rank %(rank)s 最后发起的是 %(group)s 的第 %(number)s 个 %(operation)s（%(state)s）%(place)s"),
    "recovered": ("%(count)s exceptions before that stopped nothing: the run went on", "之前的 %(count)s 个异常没有中断运行"),
    "warnings": ("%(count)s warnings of NCCL or gloo", "NCCL/gloo 警告 %(count)s 条"),
    "kind": ("Kind", "类别"),
    "message": ("Message", "消息"),
    "story": ("What happened", "经过"),
    "causes": ("Causes in this project, the likeliest first", "本项目中的原因，最可能的在前"),
    "fix": ("fix", "修改"),
    "explains": ("No finding of the check explains it. It would have to be true that", "静态检查没有能解释它的发现。需要成立的条件："),
    "in-general": ("In general", "一般做法"),
    "reference": ("Right in", "正确写法见"),
    "verify": ("Test it", "验证"),
    "no-causes": ("No place in this project could be tied to it.", "没有能与之对应的本项目位置。"),
    "foreign": ("No line of the traceback lies in the given paths: this log is of another project, or the paths are wrong.",
                "调用栈中没有一行位于给定路径：日志属于另一个项目，或路径不对。"),
    "changed": ("These files have changed since the run; no longer there as the log shows them: %(places)s",
                "运行之后文件已改动，与日志不符的位置：%(places)s"),
    "changed-all": ("None of the lines in the log stand in these files any more: it is of another version. What still fits is the "
                    "names of files and functions.", "日志中的代码行在这些文件里都已不存在：它来自另一个版本；仍然可用的只有文件名和函数名。"),
    "unchecked": ("There are no Python files below the given paths: the causes are those of the kind alone.",
                  "给定路径下没有 Python 文件：只能给出该类别的一般原因。"),
    "binary": ("This is a binary file, not a log: give the text that the run printed, or a flight-recorder dump.",
               "这是二进制文件，不是日志：请给出运行时打印的文本，或 flight recorder 转储。"),
    "flood": ("The log is full of failures and warnings: its beginning and its end were read line by line, the rest was passed over.",
              "日志里充满失败与警告：只逐行读取了开头和结尾，其余略过。"),
    "dump": ("A flight-recorder dump could not be read: it is damaged, or holds more than plain values.", "flight recorder 转储无法读取：已损坏，或含有非普通值。"),
    "empty": ("The log is empty.", "日志为空。"),
    "unreadable": ("A file could not be read: %(name)s", "文件无法读取：%(name)s"),
    "cut": ("The log ends in the middle of a traceback: what came after it is not known.", "日志在调用栈中间截断：之后的内容未知。"),
    "healthy": ("No failure seen", "没有发现失败"),
    "healthy-progress": ("the run reported progress %(count)s times", "运行报告进度 %(count)s 次"),
    "only-warnings": ("only warnings, which stopped nothing", "只有警告，没有中断运行"),
    "timeless": ("", ""),
    "now-line": ("line %(line)s of the log is line %(now)s now", "日志中的第 %(line)s 行现在是第 %(now)s 行"),
}  # fmt: skip


def say(key: str, language: str, **fields: object) -> str:
    """A sentence in a language."""
    text = SENTENCES[key][LANGUAGES.index(language)]
    return text % fields if fields else text


def said(why: Reason, language: str) -> str:
    """Why a place is suspected."""
    return SENTENCES[why.key][LANGUAGES.index(language)] % dict(why.fields)


def of_kind(name: str, part: str, language: str) -> str:
    """The title, test or fix of a kind."""
    both: Both = getattr(WORDS[name], part)
    return both[LANGUAGES.index(language)]
