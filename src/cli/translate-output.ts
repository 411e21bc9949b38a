import { FAILURES_EN } from '../contract/messages/failures-en.ts';
import { FAILURES_ZH_CN } from '../contract/messages/failures-zh-cn.ts';
import type { FailureCause } from '../contract/task-states.ts';
import { FINDINGS_ZH_CN } from './findings-zh-cn.ts';
import type { Translation } from './output.ts';
import { PHRASES_ZH_CN } from './phrases-zh-cn.ts';

/**
 * Chinese texts of what commands print, by the English ones; `#` stands for a value, `##` for another of these texts.
 * Results in a pipe stay English, since scripts read them.
 */
export const OUTPUT_ZH_CN: readonly (readonly [english: string, chinese: string])[] = [
  // Sign-in
  ['  Open   #', '  打开   #'],
  ['  Code   #', '  验证码 #'],
  ['Choose # when you confirm.', '确认时请选择 #。'],
  [
    'Confirm there within #, and only if it shows this code. Ctrl-C cancels.',
    '请在 # 内确认，且仅在页面显示此验证码时确认。Ctrl-C 取消。',
  ],
  ['A browser opens; if it does not, use the link.', '浏览器即将打开；如未打开，请使用上面的链接。'],
  ['Waiting for you to confirm …', '正在等待确认…'],
  ['Cancelled. The code above is no longer valid.', '已取消，上面的验证码不再有效。'],
  ['## Trying again in # …', '## 将在 # 后重试…'],
  ['## Trying again …', '## 正在重试…'],
  ['Signed in to # as #.', '已登录 #，账号 #。'],
  ['Signed out of #.', '已退出 #。'],
  ['You were not signed in to #.', '您未登录 #。'],
  ['You are not signed in to #. ##', '您未登录 #。##'],
  ['You are not signed in to #.', '您未登录 #。'],
  [
    'REELGATE_API_KEY works for videos and models, not for the account.',
    'REELGATE_API_KEY 可用于视频与模型，不能用于账号。',
  ],
  [
    'You are not signed in for #. Run "#" and choose it when you confirm.',
    '您未以 # 的身份登录。请执行“#”，并在确认时选择它。',
  ],
  [
    '## You are still signed in. Try again, or only delete the tokens here with --local.',
    '## 您仍处于登录状态。请重试，或用 --local 只删除本机的令牌。',
  ],
  ['The sign-in was denied in the browser.', '登录在浏览器中被拒绝。'],
  ['The code has expired.', '验证码已过期。'],
  [
    'The sign-in was not confirmed for #. Run the command again and choose it.',
    '确认登录时未选择 #。请重新执行命令并选择它。',
  ],
  [
    'REELGATE_ACCESS_TOKEN needs REELGATE_USER_ID too, the id of its account.',
    'REELGATE_ACCESS_TOKEN 需与 REELGATE_USER_ID（其账号的 ID）一起设置。',
  ],
  [
    'REELGATE_ACCESS_TOKEN was used, with REELGATE_USER_ID. Create a new one in the console under Security, or unset it to sign in.',
    '使用的是 REELGATE_ACCESS_TOKEN 与 REELGATE_USER_ID。请在控制台的“安全”中创建新的，或取消设置后登录。',
  ],
  ['The tokens of this sign-in are in ##, which cannot be opened from here.', '此登录的令牌保存在 ##，目前无法打开。'],
  [
    'Unlock it, or sign in again with REELGATE_KEYCHAIN=0, which keeps the tokens in a file only you can read.',
    '请解锁，或设置 REELGATE_KEYCHAIN=0 后重新登录，令牌将存于仅您可读的文件。',
  ],
  [
    'Another reelgate process has locked # for too long. End it and try again.',
    '另一个 reelgate 进程占用 # 过久。请结束该进程后重试。',
  ],
  ['"#" is no #.', '“#”不是有效的 #。'],
  ['"#" is no organization. "#" lists yours.', '“#”不是组织。可用“#”列出您的组织。'],
  ['The tokens are in ##.', '令牌保存在 ##。'],
  [
    'End this sign-in with "reelgate logout", or from anywhere at #.',
    '可用“reelgate logout”结束此登录，或在 # 从任意位置结束。',
  ],
  [
    'REELGATE_API_KEY is set and is still used for videos and models; unset it to use this sign-in.',
    '已设置 REELGATE_API_KEY，视频与模型仍使用它；取消设置后才会使用此登录。',
  ],
  ['REELGATE_API_KEY is still set and still works.', 'REELGATE_API_KEY 仍已设置且有效。'],
  ['The service had already ended this sign-in.', '服务端已结束此登录。'],
  [
    'The sign-in of # could not be ended; end it in the console under Devices.',
    '无法结束 # 的登录，请在控制台的“设备”中结束。',
  ],
  [
    'The sign-in on this machine has ended: it was signed out, ended from elsewhere, or it expired.',
    '本机的登录已结束：已退出、在别处被结束或已过期。',
  ],
  [
    'This changes the credentials of the account, so your password is required.',
    '此操作会更改账号凭证，需要输入密码。',
  ],
  [
    '## Create an API key in the console and set REELGATE_URL and REELGATE_API_KEY; no sign-in is needed then. If someone does see this output, add --force.',
    '## 请在控制台创建 API 密钥，并设置 REELGATE_URL 与 REELGATE_API_KEY，无需登录。若有人能看到此输出，请加 --force。',
  ],
  [
    'This looks like CI (the variable CI is set), so the sign-in could not be confirmed.',
    '当前似乎是 CI 环境（已设置变量 CI），无法确认登录。',
  ],
  [
    'There is no terminal to show the code on, so the sign-in could not be confirmed.',
    '没有可显示验证码的终端，无法确认登录。',
  ],
  [
    'The code has expired. Press Enter for a new one, Ctrl-C to stop.',
    '验证码已过期。按 Enter 获取新的，Ctrl-C 停止。',
  ],
  ['## Other sign-ins ended: #.', '## 已结束其他登录 # 个。'],
  [
    'They are still valid. Unlock it and repeat this, or end the sign-in in the console under Devices and repeat this without --local.',
    '令牌仍有效。请解锁后重试；或在控制台的“设备”中结束此登录，再去掉 --local 重试。',
  ],
  ['the keychain', '钥匙串'],
  ['the macOS keychain', 'macOS 钥匙串'],
  ['the Windows credential manager', 'Windows 的 Credential Manager'],
  ['the desktop keyring', '桌面密钥环'],
  ['# (only you can read it)', '#（仅您可读）'],
  ['User name or e-mail', '用户名或邮箱'],
  ['Password of #', '# 的密码'],
  ['Password of the link', '链接密码'],
  ['Code of your authenticator app, or a backup code', '身份验证器中的验证码，或备用码'],
  [
    'This changes the credentials of the account, so a device sign-in may not do it. Run it in a terminal, where it asks for your password, or set REELGATE_ACCESS_TOKEN and REELGATE_USER_ID; create such a token in the console.',
    '此操作会更改账号凭证，设备登录无权执行。请在终端中运行并输入密码，或设置 REELGATE_ACCESS_TOKEN 与 REELGATE_USER_ID（令牌在控制台创建）。',
  ],

  // Videos
  ['A file needs a model: choose one with --model.', '文件需要指定模型：请用 --model 选择。'],
  ['It cost #; you waited #.', '费用 #，等待 #。'],
  ['Videos of this model usually take #; nine of ten take at most #.', '此模型通常需要 #，九成不超过 #。'],
  ['## The task continues; polling again …', '## 任务仍在继续，正在重新查询…'],
  ['## The batch continues; polling again …', '## 批量任务仍在继续，正在重新查询…'],
  ['The task continues. Wait for it with "#".', '任务仍在继续，可用“#”等待。'],
  ['Done. Download it with "#".', '完成，可用“#”下载。'],
  ['Saved #.', '已保存 #。'],
  ['Deleted #.', '已删除 #。'],
  ['Cancelled #. Nothing is charged.', '已取消 #，不扣费。'],
  ['Link # was revoked.', '链接 # 已撤销。'],
  ['There are older ones: --after #', '还有更早的：--after #'],
  ['Page # of #: --page #', '第 # 页，共 # 页：--page #'],
  ['Page # of #; more with --page #.', '第 # 页，共 # 页；更多请用 --page #。'],
  ['No videos yet. Generate one with "#".', '还没有视频，可用“#”生成。'],
  ['No links. Create one with "#".', '没有链接，可用“#”创建。'],
  ['No collections. Create one with "#".', '没有合集，可用“#”创建。'],
  ['Renamed to #.', '已重命名为 #。'],
  ['Deleted collection #. Its videos stay.', '已删除合集 #，其中的视频保留。'],
  ['No files. Upload one with "#".', '没有文件，可用“#”上传。'],
  ['No batches. Start one with "#".', '没有批量任务，可用“#”开始。'],
  ['It was not charged.', '未扣费。'],
  ["The vendor's message: #", '供应商的消息：#'],
  ['This service keeps no copies: videos are served by their vendors.', '此服务不保存副本：视频由供应商提供。'],
  ['# is a folder. Name a file in it.', '# 是文件夹，请指定其中的文件名。'],
  ['# exists. Replace it with --force.', '# 已存在，可用 --force 覆盖。'],
  ['# is no regular file. Name another one.', '# 不是普通文件，请指定其他文件。'],
  ['The path to save to is empty. Is a variable of your shell unset?', '保存路径为空，请检查 shell 变量是否已设置。'],
  ['The service sent no file.', '服务未返回文件。'],
  ['The connection was lost during the download.', '下载时连接中断。'],
  [
    'The file on disk does not belong to this video. Remove it and try again.',
    '磁盘上的文件不属于此视频。请删除后重试。',
  ],
  ['Still # when the time to wait was over.', '等待时间已到，状态仍为 #。'],
  ['There is no terminal to ask for the password: give it a value.', '没有可输入密码的终端，请直接给出密码。'],
  [
    '--page is for a sign-in. With REELGATE_API_KEY use --after.',
    '--page 用于登录时。使用 REELGATE_API_KEY 时请用 --after。',
  ],
  ['--after is for REELGATE_API_KEY. When signed in use --page.', '--after 用于 REELGATE_API_KEY。登录时请用 --page。'],
  [
    'Name a model with --model, or set a default: #. "#" lists them.',
    '请用 --model 指定模型，或设置默认值：#。可用“#”列出模型。',
  ],
  ['# has no --#.', '# 没有 --#。'],
  [
    '#: each vendor has another field for this, and a key does not tell which. Sign in with "#", or use --metadata.',
    '#：各供应商的字段不同，仅凭密钥无法得知。请用“#”登录，或使用 --metadata。',
  ],
  ['The service sent another part of the file than was requested.', '服务返回的文件片段与请求不符。'],

  // Account
  ['No device is signed in.', '没有已登录的设备。'],
  ['Ended sign-in #.', '已结束登录 #。'],
  ['No models. An administrator adds them in the console.', '没有模型。管理员可在控制台添加。'],
  ['No model has the words "#".', '没有包含“#”的模型。'],
  ['You belong to no organization.', '您不属于任何组织。'],
  ['Closed #. Undo it with "#".', '已关闭 #，可用“#”恢复。'],
  ['Restored #.', '已恢复 #。'],
  ['Give --role or --spend-limit.', '请给出 --role 或 --spend-limit。'],
  ['Created #. Act for it with "#".', '已创建 #，可用“#”以其身份操作。'],
  ['No members.', '没有成员。'],
  ['Changed member #.', '已修改成员 #。'],
  ['No open invitations.', '没有未接受的邀请。'],
  ['Withdrew invitation #.', '已撤销邀请 #。'],
  ['The link works once, until #.', '链接仅可使用一次，有效期至 #。'],
  ['Joined #. Act for it with "#".', '已加入 #，可用“#”以其身份操作。'],
  ['Removed member #.', '已移出成员 #。'],
  ['No API keys. Create one with "#".', '没有 API 密钥，可用“#”创建。'],
  ['Key #. Store it now: it is not shown again.', '密钥 #。请立即保存，之后不再显示。'],
  ['Revoked key #.', '已撤销密钥 #。'],
  ['Changed key #.', '已修改密钥 #。'],
  ['The old secrets of key # no longer work.', '密钥 # 的旧密钥已失效。'],
  ['No plans are offered here.', '没有可购套餐。'],
  ['# were added to your balance.', '已向余额添加 #。'],
  ['The plan # starts when your current plan ends, on #.', '套餐 # 将在当前套餐结束时（#）开始。'],
  ['Your plan # was extended to #.', '您的套餐 # 已延长至 #。'],
  ['The plan # is active until #.', '套餐 # 有效期至 #。'],
  ['No calls yet.', '还没有调用。'],
  ['No mailbox yet. Apply for one with "#".', '还没有邮箱，可用“#”申请。'],
  ['No application password yet. ##', '还没有应用专用密码。##'],
  ['Make a new one with "#".', '可用“#”创建。'],
  ['You have this mailbox already.', '您已有此邮箱。'],
  ['Your mailbox is ready.', '邮箱已就绪。'],
  ['For mail programs make an application password: "#".', '邮件程序请使用应用专用密码：“#”。'],
  ['The mail server does not accept this password. ##', '邮件服务器不接受此密码。##'],
  ['Waiting for notifications. Ctrl-C ends it.', '正在等待通知，Ctrl-C 结束。'],
  ['# unread.', '# 条未读。'],
  ['No notifications.', '没有通知。'],
  ['Give an id from the list, or --all.', '请给出列表中的 ID，或 --all。'],
  ['There is no text.', '没有内容。'],
  ['No tickets.', '没有工单。'],
  ['Opened ticket #.', '已提交工单 #。'],
  ['Replied to ticket #.', '已回复工单 #。'],
  ['Closed ticket #.', '已关闭工单 #。'],
  ['A reply comes as a notification: "#".', '有回复时会收到通知：“#”。'],
  ['No deliveries.', '没有推送记录。'],
  ['No webhooks. Add one with "#".', '没有 Webhook，可用“#”添加。'],
  ['Delivery #: see "#".', '推送 #：见“#”。'],
  ['Delivery # is due now.', '推送 # 即将执行。'],
  ['Webhook #. Store its signing secret now: it is not shown again.', 'Webhook #。请立即保存签名密钥，之后不再显示。'],
  ['Removed webhook #.', '已删除 Webhook #。'],
  ['Webhook # is enabled.', 'Webhook # 已启用。'],
  ['Webhook # is disabled.', 'Webhook # 已停用。'],
  ['# events are being redelivered.', '正在重新推送 # 个事件。'],
  ['Forwarding events to #, signed with #. Ctrl-C ends it.', '正在将事件转发到 #，签名密钥 #。Ctrl-C 结束。'],
  ['--kind needs a sign-in: "#".', '--kind 需要登录：“#”。'],
  ['## More videos and files follow.', '## 其余视频与文件将陆续移交。'],
  ['Transferred # keys, # webhooks, # videos, # files, #.', '已移交 # 个密钥、# 个 Webhook、# 个视频、# 个文件、#。'],
  ['No account can be compared.', '没有可核对的账号。'],
  ['No readings yet.', '还没有读数。'],
  ['The vendor has no endpoint that tells what it took.', '该供应商没有查询扣费的接口。'],
  [
    'New secret of key #. Store it now: it is not shown again. The old one no longer works.',
    '密钥 # 的新密钥。请立即保存，之后不再显示。旧密钥已失效。',
  ],
  [
    'New secret of key #. Store it now: it is not shown again. The old one works until #.',
    '密钥 # 的新密钥。请立即保存，之后不再显示。旧密钥有效至 #。',
  ],
  ['Added: #.', '已加入：#。'],
  ['Removed: #.', '已移出：#。'],

  // Maintenance
  ['# has a new password; all sign-ins of the account have ended.', '已为 # 设置新密码，该账号的所有登录已结束。'],
  ['It is shown only now:', '仅此一次显示：'],
  [
    'Values re-encrypted: #. Nothing is encrypted with another key any more.',
    '已重新加密 # 项，不再有使用其他密钥加密的数据。',
  ],
  ['Moved # (#); # were there already.', '已移动 # 个（#），# 个已存在。'],
  ['Left # that are damaged or missing as they are: #', '# 个已损坏或缺失，保持原样：#'],
  ['# has #; the mail server learns of it within a minute.', '已为 # 登记 #，邮件服务器将在一分钟内生效。'],
  [
    'With --stdin, pipe the password in; typed here it would be visible.',
    '使用 --stdin 时请从管道输入密码；在此键入会显示出来。',
  ],
  [
    'pg_dump makes backups of PostgreSQL, without an interruption. Keep MASTER_KEY too, in another place:',
    'PostgreSQL 请用 pg_dump 备份，不中断服务。MASTER_KEY 也须另存于他处：',
  ],
  [
    '# has the database and, under the passphrase, its key: # in # s.',
    '# 包含数据库及以口令密封的主密钥：#，用时 # 秒。',
  ],
  ['# has the database: # in # s.', '# 包含数据库：#，用时 # 秒。'],
  [
    'Keep the master key in another place: without it, what is encrypted cannot be read.',
    '请将主密钥另存于他处：没有它，加密的数据无法读取。',
  ],
  ['pg_restore restores PostgreSQL, into an empty database:', '请用 pg_restore 恢复到空的 PostgreSQL 数据库：'],
  ['Restored the backup of # (release #).', '已恢复 # 的备份（版本 #）。'],
  ['What was there is now #.', '原有数据库已移至 #。'],
  ['The master key is in #.', '主密钥在 #。'],
  ['"#" checks all of it; then start the service.', '可用“#”检查全部数据，然后启动服务。'],
  [
    'Start the service with DATABASE_URL set to the copy and the same MASTER_KEY.',
    '请将 DATABASE_URL 指向副本，以相同的 MASTER_KEY 启动服务。',
  ],
  [
    'Start the service with DATABASE_URL set to the copy and MASTER_KEY to the key in #.',
    '请将 DATABASE_URL 指向副本，MASTER_KEY 设为 # 中的密钥，再启动服务。',
  ],
  [
    'Give the passphrase of the key with --passphrase-file or REELGATE_BACKUP_PASSPHRASE.',
    '请用 --passphrase-file 或 REELGATE_BACKUP_PASSPHRASE 给出主密钥的口令。',
  ],
  ['Passphrase for the key in the backup', '备份中主密钥的口令'],
  ['Once more', '再次输入'],
  ['The two passphrases differ.', '两次输入的口令不同。'],
  ['"#" works only on the server, and takes no other options.', '“#”只能在服务器上运行，且不接受其他选项。'],
  ['Give one of --dry-run, --apply, --verify and --undo.', '请从 --dry-run、--apply、--verify、--undo 中选择一个。'],
  [
    'The importer is not installed. It comes separately: run "#" with the file of this release, or "#" in a checkout. See docs/move-from-new-api.md.',
    '未安装导入程序。它是独立的软件包：请用本版本的文件执行“#”，或在源码目录执行“#”。参见 docs/move-from-new-api.zh-CN.md。',
  ],

  // Chat
  ['Chatting with #. Ctrl-D ends it.', '正在与 # 对话，Ctrl-D 结束。'],
  ['The response was cut off at the maximum length.', '响应达到最大长度，已截断。'],
  ['There is no question. Give one, or pipe it in.', '没有问题。请给出问题，或从管道输入。'],
  ['Tokens are counted of texts alone; leave out --image.', '只能计算文本的 token 数，请去掉 --image。'],
  ['# is no image a model can read: PNG, JPEG, WebP or GIF.', '# 不是模型可读的图片（PNG、JPEG、WebP 或 GIF）。'],
  ['The response ended too early.', '响应提前结束。'],
  ['# input tokens, # output tokens', '输入 # 个 token，输出 # 个 token'],
  ['A passphrase for the key has at least # characters.', '主密钥的口令至少 # 个字符。'],
  [
    '# was created by release #, which has a newer schema. Restore it with that release.',
    '# 由版本 # 生成，数据库结构更新。请用该版本恢复。',
  ],
  [
    'MASTER_KEY is not the key of this backup. Set it to that key, or unset it to use the one in the backup.',
    'MASTER_KEY 不是此备份的主密钥。请改为该密钥，或取消设置以使用备份中的密钥。',
  ],
  [
    'The backup was created without its key. Put that into #, or set MASTER_KEY.',
    '此备份不含主密钥。请将其放入 #，或设置 MASTER_KEY。',
  ],
  ['The key in the backup is not the one its database was written with.', '备份中的主密钥与其数据库不符。'],
  ['There is a database at #. With --force it is moved aside.', '# 已有数据库，加 --force 会将其移到一旁。'],
  [
    '# is not the key of this backup. With --force it is moved aside.',
    '# 不是此备份的主密钥，加 --force 会将其移到一旁。',
  ],
  ['The master key does not open #.', '主密钥无法解密 #。'],
  ['# is not a database of this service.', '# 不是本服务的数据库。'],
  [
    '# has the schema of a newer release (#). Copy it with that release.',
    '# 的数据库结构属于更新的版本（#）。请用该版本复制。',
  ],
  [
    '# has the schema of an older release (# is missing). Start this release on it once, stop it, and copy it then.',
    '# 的数据库结构属于较旧的版本（缺少 #）。请先用本版本启动一次再停止，然后复制。',
  ],
  ['# is not the key that # was written with; nothing was copied.', '# 不是 # 的主密钥，未复制任何数据。'],
  [
    'The service did not stop in order: # has model calls that are not charged yet. Start the service on the source once more and stop it, then copy.',
    '服务未正常停止：# 中有尚未扣费的模型调用。请用来源数据库再启动一次服务并停止，然后复制。',
  ],
  ['There is no account #.', '账号 # 不存在。'],
  [
    'There is no database at #. Run this where the service runs, or name its database with DATABASE_URL.',
    '# 没有数据库。请在服务所在位置运行，或用 DATABASE_URL 指定数据库。',
  ],
  [
    'Set ARTIFACTS=s3 and the ARTIFACTS_S3 settings first, and restart the service with them.',
    '请先设置 ARTIFACTS=s3 与 ARTIFACTS_S3 各项，并重启服务。',
  ],
  ['BASE_URL is #, which only this machine can open.', 'BASE_URL 为 #，只有本机可以访问。'],
  [
    'Set BASE_URL to the address people use, such as https://reelgate.example.com.',
    '请将 BASE_URL 设为用户访问的地址，例如 https://reelgate.example.com。',
  ],
  ['SANDBOX=1: simulated vendors are on.', 'SANDBOX=1：已启用模拟供应商。'],
  ['Leave SANDBOX out where customers pay.', '正式收费的环境请勿设置 SANDBOX。'],
  ['All settings are valid.', '所有设置均有效。'],
  [
    'Correct this setting in the environment or in .env; docs/config.md lists all of them.',
    '请在环境变量或 .env 中更正此设置，全部设置见 docs/config.md。',
  ],
  ['There is no database at #.', '# 没有数据库。'],
  [
    'Set DATABASE_URL=sqlite:./data/quickstart.db to check the quickstart of this folder.',
    '检查本文件夹的 quickstart，请设置 DATABASE_URL=sqlite:./data/quickstart.db。',
  ],
  [
    'Run this in the folder of the service, or set DATABASE_URL. The first start of the service creates it.',
    '请在服务的文件夹中运行，或设置 DATABASE_URL。首次启动服务时会创建数据库。',
  ],
  ['## responds and has the schema of the service.', '## 响应正常，数据库结构正确。'],
  ['SQLite at #', 'SQLite 数据库 #'],
  [
    'Check DATABASE_URL and that the database runs; start the service once to bring its schema up to date.',
    '请检查 DATABASE_URL 与数据库是否运行；启动一次服务可更新数据库结构。',
  ],
  ['It is the key this database was written with.', '主密钥与此数据库相符。'],
  [
    'Restore MASTER_KEY (or the file master.key) from the backup: without it no stored secret can be read.',
    '请从备份恢复 MASTER_KEY（或 master.key 文件）：没有它，已存的密钥无法读取。',
  ],
  ['No channel is enabled, so no model can be called.', '没有启用的渠道，无法调用任何模型。'],
  ['Add one in the console under Administration, Channels.', '请在控制台的“管理”中添加渠道。'],
  ['#: # responds.', '#：# 响应正常。'],
  ['#: # cannot be reached: #.', '#：无法连接 #：#。'],
  [
    "Check the channel's base URL, and that the firewall lets this machine reach it.",
    '请检查渠道的 Base URL，并确认防火墙允许本机访问。',
  ],
  ['SMTP_URL is not set, so no e-mail is sent.', '未设置 SMTP_URL，不会发送邮件。'],
  [
    'Set SMTP_URL and SMTP_FROM, so that people can confirm their e-mail and reset their password.',
    '请设置 SMTP_URL 与 SMTP_FROM，以便用户确认邮箱、重置密码。',
  ],
  ['The mail server accepts the connection and the sign-in.', '邮件服务器可连接且登录成功。'],
  [
    'Check host, port, user and password in SMTP_URL; smtps:// is for port 465, smtp:// for 587.',
    '请检查 SMTP_URL 中的主机、端口、用户名与密码；465 端口用 smtps://，587 端口用 smtp://。',
  ],
  [
    'BASE_URL is https, so there is a proxy, and TRUST_PROXY does not name it.',
    'BASE_URL 为 https，前面有反向代理，但 TRUST_PROXY 未指明。',
  ],
  [
    'Set TRUST_PROXY to the IP address of the proxy: otherwise all callers count as one address, share its rate limits, and the audit log records only that one.',
    '请将 TRUST_PROXY 设为反向代理的 IP 地址：否则所有调用方视为同一地址，共用其速率限制，审计日志也只记录该地址。',
  ],
  ['# leads to a service that is ready.', '# 可访问已就绪的服务。'],
  ['# does not respond as expected: #.', '# 的响应不符合预期：#。'],
  [
    'Start the service; if it runs, check that the proxy of BASE_URL passes every path to it (docs/deploy.md).',
    '请启动服务；如已运行，请检查 BASE_URL 的反向代理是否转发所有路径（docs/deploy.md）。',
  ],

  // Quickstart
  ['Building the console, which takes a minute …', '正在构建控制台，约需一分钟…'],
  ['Starting Reelgate at # with simulated vendors …', '正在以模拟供应商启动 Reelgate：#…'],
  ['The service is running. Ctrl-C stops it.', '服务正在运行，Ctrl-C 停止。'],
  ['Generating a first video with #: "#"', '正在用 # 生成第一个视频：“#”'],
  ['Text message to #: your code is #', '发往 # 的短信：验证码 #'],
  ['Console     #', '控制台      #'],
  [
    'Console     was not built: run "npm ci && npm run build:console", then start again',
    '控制台      尚未构建：请执行“npm ci && npm run build:console”后重新启动',
  ],
  ['Sign in     #   (or the password you have set since)', '登录        #  （如已修改密码，请用新密码）'],
  ['Reference   #', '接口文档    #'],
  [
    'Mailbox     in the console: link any phone number under Profile (its code appears here), then open Mailbox',
    '邮箱        在控制台“个人资料”中绑定任意手机号（验证码显示在此），然后打开“邮箱”',
  ],
  ['With curl:', '使用 curl：'],
  ['With the command line:', '使用命令行：'],

  // Errors
  ['Error:', '错误：'],
  ['Error: #', '错误：#'],
  ['#: there is no such file or folder.', '#：文件或文件夹不存在。'],
  ['#: permission denied.', '#：没有权限。'],
  ['#: not permitted.', '#：不允许此操作。'],
  ['#: it is a folder.', '#：这是文件夹。'],
  ['#: a part of the path is no folder.', '#：路径中有一部分不是文件夹。'],
  ['#: the name is too long.', '#：文件名过长。'],
  ['#: the disk is full.', '#：磁盘已满。'],
  ['#: the disk is read-only.', '#：磁盘只读。'],
  ['Is it running? Set the URL with --url or REELGATE_URL.', '服务是否在运行？可用 --url 或 REELGATE_URL 设置地址。'],
  [
    'Its name cannot be resolved. Check the URL and the network of this machine.',
    '无法解析主机名。请检查地址与本机网络。',
  ],
  [
    'It does not use TLS there. If it runs on this machine, begin its URL with http://.',
    '该地址未使用 TLS。如服务在本机运行，地址请以 http:// 开头。',
  ],
  [
    'Its certificate is not trusted. Set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority.',
    '证书不受信任。请将 NODE_EXTRA_CA_CERTS 设为其颁发机构证书文件的路径。',
  ],
  ['It may still be working on the request.', '服务可能仍在处理该请求。'],
  ['Set the URL of the service with --url or REELGATE_URL.', '请用 --url 或 REELGATE_URL 设置服务地址。'],
  ['The service at # redirects to #. Use that URL.', '服务 # 重定向到 #，请使用该地址。'],
  ['The service at # cannot be reached.', '无法连接服务 #。'],
  [
    "The service at # did not respond within the five minutes of Node's fetch.",
    '服务 # 在 Node 的 fetch 等待的五分钟内未响应。',
  ],
  ['The service at # did not respond in time.', '服务 # 未及时响应。'],
  ['The service did not answer in time.', '服务未及时响应。'],
  ['The service did not respond with JSON. Is the URL right?', '服务返回的不是 JSON，请检查地址。'],
  ['The API key has a character that none can have, such as a space or “…”.', 'API 密钥含有无效字符，例如空格或“…”。'],
  [
    'The access token has a character that none can have, such as a space or “…”.',
    '访问令牌含有无效字符，例如空格或“…”。',
  ],
  [
    'The video may have been started: see "reelgate video list".',
    '视频可能已开始生成，请用“reelgate video list”查看。',
  ],
  ['The connection to the service was lost.', '与服务的连接已中断。'],
  [
    'The service sent nothing for a minute, or a proxy holds the events back.',
    '服务一分钟内未发送数据，或代理缓冲了事件。',
  ],
  [
    'The URL of the service contains a user name or a password, which cannot be sent. Leave them out.',
    '服务地址含有用户名或密码，无法发送，请去掉。',
  ],
  ['"#" is not a URL of a service. Give one such as #.', '“#”不是服务地址。请使用 # 这样的地址。'],
  [
    'HTTP_PROXY or HTTPS_PROXY names no proxy that can be used. Give one such as http://proxy.example.com:3128.',
    'HTTP_PROXY 或 HTTPS_PROXY 中的代理无法使用。请使用 http://proxy.example.com:3128 这样的地址。',
  ],
  ['Name a command; --help lists them.', '请给出命令，可用 --help 查看。'],
  ['# is not JSON. Correct it or remove it.', '# 不是 JSON，请更正或删除。'],
  ['Give a number from the list.', '请给出列表中的数字。'],
  ['Give a whole number from #.', '请给出不小于 # 的整数。'],
  ['Give an amount such as 20 or 0.5.', '请给出金额，例如 20 或 0.5。'],
  ['Give 0 to 168 hours.', '请给出 0 至 168 小时。'],
  [
    'Give an amount and a period such as 20/day, 100/week or 5000/month, or none.',
    '请给出金额与周期，例如 20/day、100/week 或 5000/month，或 none。',
  ],
  ['Give a JSON object, such as #.', '请给出 JSON 对象，例如 #。'],
  ['Give some of #, or none.', '请给出 # 中的若干项，或 none。'],
  ['Give a number of days from 1 to #.', '请给出 1 至 # 的天数。'],
  ['Give a number with m, h or d, such as 7d.', '请给出带 m、h 或 d 的数字，例如 7d。'],
  ['Give a URL such as http://127.0.0.1:4000/hook.', '请给出地址，例如 http://127.0.0.1:4000/hook。'],
  [
    'The service does not accept this command line as a client; its administrator can allow it.',
    '服务不接受此命令行客户端，可由其管理员放行。',
  ],
  ['There is no such task.', '任务不存在。'],
  [
    'A task is visible only to the key that started it. List your videos with "#".',
    '任务仅对提交它的密钥可见。可用“#”列出视频。',
  ],
  [
    'Redeem a code with "#", or ask the administrator for credits. If the limit of an API key is used up, another key has its own.',
    '可用“#”兑换，或向管理员申请积分。若某个 API 密钥的限额已用完，其他密钥有各自的限额。',
  ],
  ['List the models with "#".', '可用“#”列出模型。'],
  ['Get a new code with "#".', '可用“#”获取新的验证码。'],
  ['Start again with "#".', '请用“#”重新开始。'],
  ['Try again a little later.', '请稍后重试。'],
  [
    'Sign in with "#", or set REELGATE_API_KEY for videos and models.',
    '请用“#”登录，或为视频与模型设置 REELGATE_API_KEY。',
  ],
  [
    'REELGATE_API_KEY was used. Create an API key in the console under API keys, or unset it to sign in.',
    '使用的是 REELGATE_API_KEY。请在控制台创建 API 密钥，或取消设置后登录。',
  ],
  ['Request: #', '请求编号：#'],

  // Times
  ['just now', '刚刚'],
  ['in a moment', '即将'],
  ['# minute ago', '# 分钟前'],
  ['# minutes ago', '# 分钟前'],
  ['# hour ago', '# 小时前'],
  ['# hours ago', '# 小时前'],
  ['# day ago', '# 天前'],
  ['# days ago', '# 天前'],
  ['in # minute', '# 分钟后'],
  ['in # minutes', '# 分钟后'],
  ['in # hour', '# 小时后'],
  ['in # hours', '# 小时后'],
  ['in # day', '# 天后'],
  ['in # days', '# 天后'],
];

/** Units of values. */
const UNITS: readonly (readonly [english: RegExp, chinese: string])[] = [
  [/^([\d,.-]+) credits$/, '$1 积分'],
  [/^(\d+) seconds?$/, '$1 秒'],
  [/^(\d+) minutes$/, '$1 分钟'],
  [/^(\d+) hours$/, '$1 小时'],
];

/** Chinese texts of why videos fail, and of what to do, by the English ones. */
const FAILURE_TEXTS: ReadonlyMap<string, string> = new Map(
  (Object.keys(FAILURES_EN) as FailureCause[]).flatMap((cause) => {
    const [en, zh] = [FAILURES_EN[cause], FAILURES_ZH_CN[cause]];
    return [[en.text, zh.text] as const, [en.advice, zh.advice] as const];
  }),
);

/** Longer ones first: a value of a shorter one could hold the rest of the text. */
const RULES = [...OUTPUT_ZH_CN, ...FINDINGS_ZH_CN, ...FAILURE_TEXTS]
  .toSorted(([one], [other]) => other.length - one.length)
  .map(([english, chinese]) => {
    const pattern = english
      .split(/##?/)
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('(.*?)');
    return [new RegExp(`^${pattern}$`), chinese] as const;
  });

/** Translates a text that a command prints to a person; unknown texts stay unchanged. */
export const translateOutput = (text: string): string => text.split('\n').map(translateLine).join('\n');

function translateLine(text: string): string {
  for (const [pattern, chinese] of RULES) {
    const values = pattern.exec(text)?.slice(1);
    if (values !== undefined)
      return chinese.replace(/##?/g, (mark) => {
        const value = values.shift() ?? '';
        return mark === '#' ? translateUnit(value) : translateLine(value);
      });
  }
  return text;
}

const translateUnit = (value: string): string =>
  UNITS.reduce((known, [english, chinese]) => known.replace(english, chinese), value);

/** Chinese texts of everything the command line prints to a person. */
export const CHINESE: Translation = {
  language: 'zh-CN',
  message: translateOutput,
  phrase: (text) => PHRASES_ZH_CN[text] ?? FAILURE_TEXTS.get(text) ?? text,
  quantity: translateUnit,
};
