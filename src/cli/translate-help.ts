import { styleText } from 'node:util';
import { type Command, Help } from 'commander';
import { translateOutput } from './translate-output.ts';

/** Chinese texts of the help, by the English ones of the commands, options and arguments. */
export const HELP_ZH_CN: Readonly<Record<string, string>> = {
  'Videos, chat, account and mailbox of a Reelgate service from the command line':
    '在命令行使用 Reelgate 服务的视频、对话、账号与邮箱',
  'output the version number': '显示版本号',
  'the service; else REELGATE_URL, the last sign-in, http://127.0.0.1:3000':
    '服务地址；默认依次取 REELGATE_URL、上次登录、http://127.0.0.1:3000',
  'act for an organization; see "reelgate orgs"': '以组织身份操作，见“reelgate orgs”',
  'one JSON document on standard output': '在标准输出打印一个 JSON 文档',
  'only the result': '只输出结果',
  'Sign in: shows a link and a code to confirm in any browser': '登录：显示链接与验证码，可在任意浏览器确认',
  'do not open a browser': '不打开浏览器',
  'do not draw the QR code': '不显示二维码',
  'how this machine is shown to you when you confirm': '确认时显示的本机名称',
  'get a new code automatically whenever one expires': '验证码过期后自动获取新的',
  'sign in without a terminal, or in CI': '在没有终端的环境或 CI 中登录',
  'End the sign-in of this machine; its tokens are revoked at once': '结束本机的登录；其令牌立即撤销',
  "end the account's sign-ins on all other devices too": '同时结束账号在其他所有设备上的登录',
  'only delete the tokens here, when the service cannot be reached': '无法连接服务时，只删除本机的令牌',
  'Show the account, its balance and how you are signed in': '显示账号、余额与登录方式',
  'Generate, follow and download videos': '生成、跟踪与下载视频',
  'Generate a video and wait for it': '生成视频并等待完成',
  'the model; default: the one of "reelgate config", see "reelgate models"':
    '模型；默认取“reelgate config”中的设置，可选模型见“reelgate models”',
  'an image: the first frame, a second one the last frame; or with first=, last=, ref=, keyframe@2=; repeatable':
    '图片：第一张为首帧，第二张为尾帧；也可写 first=、last=、ref=、keyframe@2=；可重复',
  'a reference video; source= to edit or extend it': '参考视频；source= 表示要编辑或续拍的视频',
  'a reference audio; voice= drives speech': '参考音频；voice= 驱动说话',
  'length in seconds': '时长（秒）',
  'such as 1280x720 or 720P': '例如 1280x720 或 720P',
  'quality mode, where the model has one': '画质模式（模型支持时）',
  'aspect ratio, such as 16:9': '宽高比，例如 16:9',
  'such as 1080p': '例如 1080p',
  'negative prompt: what the video must not show': '反向提示词：视频中不应出现的内容',
  'the same seed makes a similar video': '相同的种子生成相近的视频',
  'with sound, where the model has a choice': '带声音（模型可选时）',
  'without sound, where the model has a choice': '不带声音（模型可选时）',
  "the vendor's own parameters as a JSON object": '供应商自有参数，JSON 对象',
  'save the finished video here': '将完成的视频保存到此处',
  'longest wait': '最长等待时间',
  'between two polls; default: as the service advises, 10 to 30': '两次查询的间隔；默认按服务建议，10 至 30 秒',
  'replace the file if it exists': '文件已存在时覆盖',
  'print the task id and do not wait': '打印任务 ID，不等待',
  'show what it would cost and how many you can make; start nothing': '显示费用与可生成的数量，不开始生成',
  'what the video shows; - reads it from standard input': '视频内容；- 表示从标准输入读取',
  'Wait for a task that was started before': '等待先前提交的任务',
  'a task id': '任务 ID',
  'List your videos, newest first: all of the account, or those of REELGATE_API_KEY':
    '列出视频，最新在前：整个账号，或 REELGATE_API_KEY 的视频',
  'how many, at most 50 when signed in': '数量，登录时最多 50',
  'the page, when signed in': '页码，登录时可用',
  'those older than this one, with REELGATE_API_KEY': '早于此任务的视频，配合 REELGATE_API_KEY',
  'Show a task': '显示任务',
  'Show the space of the stored copies of your videos; needs a sign-in': '显示视频占用的存储空间；需要登录',
  'Create a link by which anyone who has it can watch a video; needs a sign-in':
    '创建分享链接，任何持有者都可观看；需要登录',
  'how long the link works, such as 12h or 7d; default: until the video is deleted':
    '链接有效期，例如 12h 或 7d；默认与视频相同',
  'asked for before the video is shown; without a value it is read from the terminal':
    '观看前须输入的密码；不写值则从终端读取',
  'shown on the page; default: none': '显示在页面上的标题；默认无',
  'the task id of a finished video': '已完成视频的任务 ID',
  'List the links that work': '列出有效的链接',
  'a task id; default: all videos': '任务 ID；默认所有视频',
  'Revoke a link at once': '立即撤销链接',
  'an id from "reelgate video shares"': '“reelgate video shares”中的 ID',
  'Download a finished video; an interrupted download is resumed': '下载已完成的视频；中断后可续传',
  'where to save it': '保存位置',
  'where to save it; default: its id here, with the extension of its type':
    '保存位置；默认：当前目录下以任务 ID 命名，扩展名随文件类型而定',
  'Remove a video from the list': '从列表中删除视频',
  'a finished task': '已结束的任务',
  'Cancel a video that has not started; nothing is charged': '取消尚未开始的视频，不扣费',
  'a task that waits for its start': '等待开始的任务',
  'Edit a finished video or a file': '编辑已完成的视频或文件',
  'the model; default: the one of the video': '模型；默认为视频所用的模型',
  'the id of a finished video or of a file, or a path': '已完成视频或文件的 ID，或文件路径',
  'what to change; - reads it from standard input': '要修改的内容；- 表示从标准输入读取',
  'Continue a finished video or a file': '续拍已完成的视频或文件',
  'length of the new part': '新增部分的时长',
  'what happens next; - reads it from standard input': '接下来的内容；- 表示从标准输入读取',
  'Generate a new video from a finished one': '以已完成的视频生成新视频',
  'a finished Sora-style task': '已完成的 Sora 类任务',
  'Files of your account, as inputs of videos': '账号的文件，可作为视频的输入',
  'List your files, newest first': '列出文件，最新在前',
  'how many': '数量',
  'Upload a file and print its id': '上传文件并打印其 ID',
  'what it is for': '用途',
  'until it is deleted; default 30': '删除前的天数；默认 30',
  'an image, a video, a sound, or JSONL': '图片、视频、音频或 JSONL',
  'Save the content of a file': '保存文件内容',
  'replace an existing file': '覆盖已有文件',
  'an id from the list': '列表中的 ID',
  'Delete a file': '删除文件',
  'Many requests from one file': '一个文件，多个请求',
  'Start a batch': '开始批量任务',
  'of JSONL': '用于 JSONL',
  'of CSV rows that name none': '用于未写模型的 CSV 行',
  'start no line that would exceed these credits': '超过此积分数时不再开始新行',
  'until the batch expires, such as 24h or 7d': '批量任务过期前的时间，例如 24h 或 7d',
  'check and price a CSV file only': '只检查 CSV 文件并报价',
  'print the id and exit': '打印 ID 并退出',
  'CSV with a row for each video, or JSONL in the form of the Batch API':
    '每行一个视频的 CSV，或 Batch API 格式的 JSONL',
  'List your batches, newest first': '列出批量任务，最新在前',
  'Show a batch': '显示批量任务',
  'Wait until a batch has ended': '等待批量任务结束',
  'Start no new line and refund waiting videos': '不再开始新行，排队的视频退款',
  'Start no new line until it is resumed': '恢复前不再开始新行',
  'Resume a paused batch': '恢复已暂停的批量任务',
  'Repeat the failed lines of an ended batch as a new one': '将已结束任务中失败的行作为新任务重做',
  'Save the results of a batch as CSV': '将批量任务的结果保存为 CSV',
  'where to save the CSV': 'CSV 的保存位置',
  'Ask a language model': '向语言模型提问',
  'instructions for the model': '给模型的指令',
  'an image for the model; repeatable': '给模型的图片；可重复',
  'longest response': '最长响应',
  'wait for the complete response': '等待完整响应',
  'count the tokens of the question in place of asking it, free of charge': '只计算问题的 token 数，不提问；免费',
  'what to ask; "-" or none: from standard input, or a conversation on a terminal':
    '问题；“-”或不写：从标准输入读取，在终端中则为对话',
  'List the models you may use; with a sign-in also what they cost and how long they take':
    '列出可用的模型；登录后还显示价格与用时',
  'only these': '只列这些',
  'only those with every word in the name, the title or the vendor': '只列名称、标题或供应商包含所有词的模型',
  'Default models of this service, kept on this machine': '本服务的默认模型，保存在本机',
  'Show the settings': '显示设置',
  'Set a default': '设置默认值',
  'the setting': '设置项',
  'a model of "reelgate models"': '“reelgate models”中的模型',
  'Remove a default': '删除默认值',
  'Devices and applications with access to the account; end one': '可访问账号的设备与应用；可结束其登录',
  'List the sign-ins, newest first': '列出登录，最新在前',
  'End a sign-in; its tokens are revoked at once': '结束登录；其令牌立即撤销',
  'API keys (sk-…) of the account; asks for your password': '账号的 API 密钥（sk-…）；需要密码',
  'List the keys; only the first letters of each are shown': '列出密钥；只显示各密钥的前几位',
  'Create a key; it is shown only now': '创建密钥；仅此一次显示',
  'days until it expires; default: never': '有效天数；默认永不过期',
  'spending limit, in credits or in the currency of the service': '消费上限，以积分或服务的货币计',
  'limit per day, week or month, such as 5000/month': '每天、每周或每月的上限，例如 5000/month',
  'only this model; repeatable': '仅限此模型；可重复',
  'only from this IP address or CIDR range; repeatable': '仅限此 IP 地址或 CIDR 网段；可重复',
  'requests a minute': '每分钟请求数',
  'tokens a minute': '每分钟 token 数',
  'concurrent model calls': '同时进行的模型调用数',
  'concurrent videos': '同时生成的视频数',
  'videos that may wait for a slot': '可排队的视频数',
  'Change what a key may spend': '修改密钥的消费上限',
  'spending limit in all': '总消费上限',
  'limit per day, week or month, such as 5000/month, or none': '每天、每周或每月的上限，例如 5000/month，或 none',
  'Give a key a new secret; it is shown only now, and the old one works for a while':
    '轮换密钥；新密钥仅此一次显示，旧密钥保留一段时间',
  'how long the old secret still works, at most 168 hours; default: 24': '旧密钥的保留小时数，最多 168；默认 24',
  'end the old secrets now instead': '改为立即使旧密钥失效',
  'Revoke a key at once': '立即撤销密钥',
  'Organizations you belong to, their members and invitations': '您所在的组织及其成员与邀请',
  'List them with your role': '列出组织与您的角色',
  'Create an organization; you become its owner': '创建组织；您成为所有者',
  'its short name in URLs and commands': '用于网址与命令的短名称',
  'its name': '名称',
  'List the members of an organization': '列出组织成员',
  'a slug of the list': '列表中的短名称',
  'Invite someone by a link that works once': '用一次性链接邀请成员',
  'the role': '角色',
  'e-mail the link there, if the service sends e-mail': '将链接发送到此邮箱（服务可发邮件时）',
  'Change the role or the spend limit of a member': '修改成员的角色或消费上限',
  'an id of the list of members': '成员列表中的 ID',
  'List the open invitations of an organization': '列出组织的未接受邀请',
  'an id of the list of invitations': '邀请列表中的 ID',
  'Revoke an invitation': '撤销邀请',
  'Join an organization': '加入组织',
  'the link of an invitation, or its part after #': '邀请链接，或其中 # 之后的部分',
  'Remove a member; their keys and sign-ins in the organization end at once':
    '移出成员；其在组织中的密钥与登录立即失效',
  'an id of the list of members; your own leaves the organization': '成员列表中的 ID；填自己的即退出组织',
  'Your mailbox, its passwords and what mail programs need': '您的邮箱、密码与邮件程序所需的设置',
  'Show the address': '显示地址',
  'show the password': '显示密码',
  'Get a mailbox': '申请邮箱',
  'the part before the @; default: chosen by the service': '@ 前的部分；默认由服务选择',
  'Show the password for mail programs, with hosts and ports': '显示邮件程序的密码、主机与端口',
  'create a new one; the old one is revoked at once': '创建新密码；旧密码立即撤销',
  'Plans on offer, and what is left of yours': '可购套餐与您的剩余额度',
  'List the plans on offer': '列出可购套餐',
  'Show your plan: remaining allowance, next reset and rate of use': '显示您的套餐：剩余额度、重置时间与消耗速度',
  'Redeem a code': '使用兑换码',
  'the code; spaces and dashes do not matter': '兑换码；忽略空格与连字符',
  'List your calls and videos that have ended, with what they cost': '列出已结束的调用与视频及其费用',
  'only this model': '仅限此模型',
  'how many, at most 100': '数量，最多 100',
  'continue with calls as they end, until Ctrl-C': '持续显示新结束的调用，直到 Ctrl-C',
  'Show what a call or video cost, line by line': '逐项显示调用或视频的费用',
  'a task id or request id': '任务 ID 或请求 ID',
  'Notifications of the account': '账号的通知',
  'List notifications, newest first': '列出通知，最新在前',
  'only those not yet read': '只列未读',
  '20 on a page, newest first': '每页 20 条，最新在前',
  'show each one as it arrives, until Ctrl-C; with --json one document a line':
    '实时显示新通知，直到 Ctrl-C；配合 --json 时每行一个文档',
  'Mark as read': '标为已读',
  'all notifications': '所有通知',
  'Support tickets': '工单',
  'List your tickets, newest first': '列出工单，最新在前',
  'only open ones': '只列未关闭的',
  'Show a ticket with its replies': '显示工单及其回复',
  'Open a ticket': '提交工单',
  'a video of yours it is about': '相关的视频',
  'the description; - reads it from standard input': '描述；- 表示从标准输入读取',
  'Reply to a ticket; a resolved one is reopened': '回复工单；已解决的会重新打开',
  '- reads it from standard input': '- 表示从标准输入读取',
  'Close a ticket': '关闭工单',
  'URLs that receive events; asks for your password': '事件推送目标；需要密码',
  'List the webhooks': '列出 Webhook',
  'Add a webhook; its signing secret is shown only now': '添加 Webhook；签名密钥仅此一次显示',
  'only this type of event; repeatable': '只推送此类事件；可重复',
  'standard, slack, lark, dingtalk, discord, telegram, bark or gotify':
    'standard、slack、lark、dingtalk、discord、telegram、bark 或 gotify',
  'https, a public address': 'https 公网地址',
  'Remove a webhook and its deliveries': '删除 Webhook 及其推送记录',
  'Enable a webhook again that was disabled': '重新启用被停用的 Webhook',
  'disable it instead': '改为停用',
  'Make a new signing secret; the old one signs beside it for 24 hours': '更换签名密钥；旧密钥在 24 小时内同时签名',
  'Deliver a test event': '推送一个测试事件',
  'List deliveries, newest first; with --json request and answer too':
    '列出推送记录，最新在前；配合 --json 时含请求与响应',
  'only failed ones': '只列失败的',
  'Deliver one event again, now': '立即重新推送一个事件',
  'an id from the deliveries': '推送记录中的 ID',
  'Deliver the events of a time once more, with the same ids': '重新推送一段时间内的事件，ID 不变',
  'events of the last so many hours': '最近若干小时内的事件',
  'Show the secret that signs deliveries to the callback_url of single requests':
    '显示对单次请求 callback_url 的推送进行签名的密钥',
  'Forward your events to a program on this machine while you write it': '开发时将事件转发到本机的程序',
  'where your program listens on this machine': '本机程序的监听地址',
  'signs with this secret; default: a new one, which is shown': '用此密钥签名；默认生成新密钥并显示',
  'Print the completion script of a shell': '打印 shell 的补全脚本',
  'the shell': 'shell 名称',
  'On the server itself: start the service, configured by the environment or .env':
    '在服务器上运行：启动服务，以环境变量或 .env 配置',
  'Start the service here with simulated vendors and generate a first video':
    '在本机以模拟供应商启动服务，并生成第一个视频',
  'stop after the video': '视频生成后停止',
  'On the server itself: check configuration, database, vendors, mail and proxy, and say what to do':
    '在服务器上运行：检查配置、数据库、供应商、邮件与代理，并给出处理建议',
  'For administrators, with REELGATE_ACCESS_TOKEN: what was settled against what vendors took from their accounts':
    '管理员命令，需 REELGATE_ACCESS_TOKEN：结算金额与供应商实际扣费的对比',
  "List accounts that can be compared, when they were read, and whether a day's figures agree":
    '列出可核对的账号、读取时间及当日是否一致',
  'List the newest readings': '列出最近的读数',
  'only this channel': '仅限此渠道',
  'single readings, or days of UTC': '单次读数，或按 UTC 天汇总',
  "Read a channel's account now and compare": '立即读取渠道账号并核对',
  'its number': '编号',
  'On the server itself: works on the database of DATABASE_URL (environment or .env), running or not':
    '在服务器上运行：操作 DATABASE_URL（环境变量或 .env）的数据库，服务运行与否均可',
  'Back up a SQLite database with its key while the service runs; for PostgreSQL print the pg_dump command':
    '在服务运行时备份 SQLite 数据库及其主密钥；PostgreSQL 则打印 pg_dump 命令',
  'the passphrase that seals the master key; else REELGATE_BACKUP_PASSPHRASE':
    '密封主密钥的口令；否则取 REELGATE_BACKUP_PASSPHRASE',
  'leave the master key out': '不包含主密钥',
  'replace a file that exists': '覆盖已有文件',
  'the file to make': '要生成的文件',
  'Put a backup in the place of the database; for PostgreSQL print the pg_restore command':
    '用备份恢复数据库；PostgreSQL 则打印 pg_restore 命令',
  'the passphrase of its key; else REELGATE_BACKUP_PASSPHRASE': '主密钥的口令；否则取 REELGATE_BACKUP_PASSPHRASE',
  'move a database that is there aside': '将现有数据库移到一旁',
  'a file made by "reelgate admin backup"': '“reelgate admin backup”生成的文件',
  'Check the ledger, references between rows, and whether the master key decrypts stored secrets':
    '核对账目、必须一致的数据，以及主密钥能否解密',
  'Move from SQLite to PostgreSQL: copy everything, compare the numbers of rows, audit both ledgers':
    '从 SQLite 迁移到 PostgreSQL：复制全部数据、比较行数并核对两边账目',
  'the SQLite database, sqlite:PATH; stop the service first': 'SQLite 数据库，sqlite:PATH；请先停止服务',
  'an empty PostgreSQL database, postgres://…': '空的 PostgreSQL 数据库，postgres://…',
  'compare every row of the copy with its original too': '同时逐行比较副本与原数据',
  'Set a new password for an account and end all its sign-ins': '为账号设置新密码并结束其所有登录',
  'read the new password from standard input; else one is generated and shown once':
    '从标准输入读取新密码；否则生成并仅显示一次',
  'also remove two-step verification and passkeys, for an owner who lost them':
    '同时移除两步验证与通行密钥，用于丢失验证方式的账号',
  'user name or e-mail': '用户名或邮箱',
  'Re-encrypt with MASTER_KEY what a key of MASTER_KEY_PREVIOUS encrypted':
    '将 MASTER_KEY_PREVIOUS 的密钥加密的数据改用 MASTER_KEY 加密',
  'Move stored videos from ARTIFACTS_DIR to the bucket of ARTIFACTS=s3; may be interrupted and repeated':
    '将 ARTIFACTS_DIR 中的视频移到 ARTIFACTS=s3 的存储桶；可中断并重复执行',
  'Register a mailbox an account had before this service; it opens with the password of the account':
    '登记账号在使用本服务前已有的邮箱；以账号密码打开',
  'user name or e-mail of the account': '账号的用户名或邮箱',
  'the part of the address before the @': '地址中 @ 前的部分',
  'On the server itself: bring accounts, keys, channels, prices and codes of another gateway here':
    '在服务器上运行：从其他网关迁入账号、密钥、渠道、价格与兑换码',
  'its database: sqlite:PATH, postgres://… or mysql://…; it is only read':
    '来源数据库：sqlite:PATH、postgres://… 或 mysql://…；只读取',
  'say what would happen and write nothing; this is the default': '只说明将发生什么，不写入；默认方式',
  'import, or continue an import that was interrupted': '导入，或继续中断的导入',
  'compare everything that was imported with the source': '将已导入的全部数据与来源比较',
  'remove what was imported and has not been used since': '删除已导入且未使用过的数据',
  'keep the ranks of administrators and root; without it every account is an ordinary user':
    '保留管理员与 root 的级别；否则所有账号均为普通用户',
  'write the report, as a page (.html) or for programs (.json)': '写出报告：页面（.html）或供程序使用（.json）',
  'how long to watch the source for changes first': '先观察来源变化多久',
  'where the accounts come from': '账号的来源',
  'those of a collection, when signed in': '某合集的视频，登录时可用',
  'Named groups of your videos': '视频的命名分组（合集）',
  'List your collections by name': '按名称列出合集',
  'Create an empty collection and print its id': '创建空合集并打印其 ID',
  'up to 80 characters': '最多 80 个字符',
  'Rename a collection': '重命名合集',
  'Delete a collection; its videos stay': '删除合集；其中的视频保留',
  'Add videos to a collection': '将视频加入合集',
  'ids of videos': '视频 ID',
  'Remove videos from a collection; they are not deleted': '从合集移出视频；视频不会被删除',
  'Close an organization; it is deleted after 30 days unless it is restored': '关闭组织；30 天内未恢复则删除',
  'Restore a closed organization': '恢复已关闭的组织',
  'Transfer your own keys, videos, files and webhooks to an organization':
    '将自己的密钥、视频、文件与 Webhook 移交给组织',
  'of keys,videos,files,webhooks, or none': 'keys,videos,files,webhooks 中的若干项，或 none',
  'part of your balance': '您余额的一部分',
  'Examples:': '示例：',
  'Example:': '示例：',
  'In CI create an API key in the console and set REELGATE_URL and REELGATE_API_KEY instead.':
    '在 CI 中请改用控制台创建的 API 密钥，并设置 REELGATE_URL 与 REELGATE_API_KEY。',
  'what it is about, in a few words': '简短说明问题',
  'a category, in a word': '类别（一个词）',
  all: '全部',
  anywhere: '不限',
  none: '无',
};

const TITLES: Readonly<Record<string, string>> = {
  'Usage:': '用法：',
  'Arguments:': '参数：',
  'Options:': '选项：',
  'Commands:': '命令：',
};

/** The end of the help. */
export const EPILOGUE_ZH_CN = `
环境变量：
  REELGATE_URL           服务地址
  REELGATE_API_KEY       用于视频、对话与模型的 sk- 密钥，代替登录
  REELGATE_ACCESS_TOKEN  用于账号命令的管理访问令牌，与 REELGATE_USER_ID 一起使用
  REELGATE_CONFIG_DIR    保存登录与设置的位置
  REELGATE_KEYCHAIN=0    将令牌存于仅您可读的文件，而非钥匙串
  HTTPS_PROXY, NO_PROXY  代理，以及不经代理访问的主机；http:// 地址用 HTTP_PROXY
  NO_COLOR, FORCE_COLOR  不使用颜色；没有终端时也使用颜色

退出状态：
  0 完成   1 失败   2 用法错误   3 需先登录   4 积分不足   5 视频生成失败
  6 超时仍在进行   7 无法连接服务   130 已中断

从这里开始：
  $ reelgate login --url https://reelgate.example.com
  $ reelgate video create "红沙发上的猫" --model kling-v3 --out cat.mp4`;

/** A sentence with the reason, or the choices, behind a wrong value. */
const REASON = '(?: (?:Allowed choices are (.*)\\.|(Give .*)))?';

const translateReason = (choices = '', reason = ''): string =>
  `${choices === '' ? '' : `，可选：${choices}`}${reason === '' ? '' : `。${translateOutput(reason)}`}`;

/** Commander's own messages about wrong usage. */
const USAGE_ERRORS: readonly (readonly [pattern: RegExp, text: string | ((...values: string[]) => string)])[] = [
  [/^error: /, '错误：'],
  [/unknown option '([^']*)'/, '未知选项“$1”'],
  [/unknown command '([^']*)'/, '未知命令“$1”'],
  [/missing required argument '([^']*)'/, '缺少参数“$1”'],
  [/required option '([^']*)' not specified/, '缺少必需的选项“$1”'],
  [/option '([^']*)' argument missing/, '选项“$1”缺少值'],
  [
    new RegExp(`option '([^']*)' argument '([^']*)' is invalid\\.${REASON}`),
    (_, option, value, choices, reason) => `选项“${option}”的值“${value}”无效${translateReason(choices, reason)}`,
  ],
  [
    new RegExp(`command-argument value '([^']*)' is invalid for argument '([^']*)'\\.${REASON}`),
    (_, value, argument, choices, reason) => `参数“${argument}”的值“${value}”无效${translateReason(choices, reason)}`,
  ],
  [/too many arguments.*$/m, '参数过多'],
  [/\(Did you mean (.*)\?\)/, '（是否想用 $1？）'],
];

/** Translates a message about wrong usage. */
export const translateUsageError = (text: string): string =>
  USAGE_ERRORS.reduce((known, [pattern, translation]) => known.replace(pattern, translation as string), text);

const translate = (text: string): string => HELP_ZH_CN[text] ?? text;

/**
 * Replaces the texts of the help of a command and all its commands by the Chinese ones.
 *
 * @param asJson keeps messages about wrong usage, which programs read
 */
export function translateHelp(command: Command, asJson: boolean): void {
  command.description(translate(command.description()));
  command.helpOption('-h, --help', '显示帮助');
  command.configureOutput({ writeOut: (text) => void process.stdout.write(text.replace(/^[A-Z].*$/gm, translate)) });
  if (command.commands.length > 0) command.helpCommand('help [command]', '显示命令的帮助');
  command.configureHelp({
    styleTitle,
    // Commander puts a space behind the title, which a full-width colon already contains.
    formatHelp: (each, helper) =>
      Help.prototype.formatHelp.call(helper, each, helper).replace(`${styleTitle('Usage:')} `, styleTitle('Usage:')),
    optionDescription: (option) => translateDefaults(Help.prototype.optionDescription.call(new Help(), option)),
    argumentDescription: (argument) => translateDefaults(Help.prototype.argumentDescription.call(new Help(), argument)),
  });
  for (const option of command.options) {
    option.description = translate(option.description);
    if (option.defaultValueDescription !== undefined)
      option.defaultValueDescription = translate(option.defaultValueDescription);
  }
  for (const argument of command.registeredArguments) argument.description = translate(argument.description);
  if (!asJson) {
    command.configureOutput({ outputError: (text, write) => write(translateUsageError(text)) });
    command.configureOutput({ writeErr: (text) => void process.stderr.write(text.replace(/^[A-Z].*$/gm, translate)) });
    command.showHelpAfterError('（加 --help 查看选项）');
  }
  for (const each of command.commands) translateHelp(each, asJson);
}

const styleTitle = (title: string): string => styleText('bold', TITLES[title] ?? title, { validateStream: false });

const translateDefaults = (text: string): string =>
  text
    .replace(/\(default: /, '（默认：')
    .replace(/\(choices: /, '（可选：')
    .replace(/, default: /, '；默认：')
    .replace(/\)$/, '）');
