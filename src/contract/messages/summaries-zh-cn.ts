/** Chinese summaries of the endpoints, by the English ones of the contract. */
export const SUMMARIES_ZH_CN: Readonly<Record<string, string>> = {
  'Create a link by which a user sets a new password; it works once, within a day':
    '创建供用户设置新密码的链接；一天内有效，仅可使用一次',
  'Link a messaging app by the code its bot shows': '用机器人给出的验证码绑定即时通讯账号',
  'Link the phone number the code was sent to': '绑定已发送验证码的手机号',
  'Confirm an e-mail address by the link sent to it; once, within 24 hours':
    '通过邮件中的链接确认邮箱；24 小时内有效，仅可使用一次',
  'Create the management access token, which replaces the old one; a new password, role, status or second step ends it':
    '创建管理访问令牌并替换旧令牌；密码、角色、状态或两步验证变更后失效',
  'Turn two-step verification off': '关闭两步验证',
  'Turn two-step verification on; the backup codes are shown once': '开启两步验证；备用码仅显示一次',
  "End one of the account's own sessions": '结束自己的一个会话',
  'The e-mail address of the account, and whether it is confirmed': '账号的邮箱及其确认状态',
  'The account of the credential': '凭证所属的账号',
  'Settings of the account': '账号设置',
  'Where the account is signed in': '账号的登录位置',
  'Sign in with a password; sets the cookie `session`': '用密码登录；设置 `session` Cookie',
  'Finish a sign-in (this one or that of a device) with a TOTP code, a backup code or a passkey':
    '用动态验证码、备用码或通行密钥完成登录（本登录或设备登录）',
  'End this session': '结束当前会话',
  'Change display name, e-mail address or password; a device credential may change the display name only':
    '修改显示名称、邮箱或密码；设备凭证只能修改显示名称',
  'Change settings; only the named keys change': '修改设置；只更改所列的键',
  'Create an account': '注册账号',
  'Send a link for a new password if an account has confirmed this e-mail address; the response is the same if none has':
    '向已确认该邮箱的账号发送重设密码链接；无论是否存在，响应相同',
  'Send the link that confirms the e-mail address again': '重新发送邮箱确认链接',
  'Set a new password by a link (of an e-mail: 30 minutes; of an administrator: a day). Once. Ends all sign-ins':
    '通过链接设置新密码（邮件 30 分钟、管理员一天内有效）。仅一次，并结束所有登录',
  'Send a code to a phone': '向手机发送验证码',
  'Begin two-step verification': '开始设置两步验证',
  'Delete an account and everything that signs in with it': '删除账号及其全部登录凭证',
  'End one session of an account': '结束某账号的一个会话',
  'One account': '单个账号',
  'Who changed what, newest first': '变更记录，按时间倒序',
  'Where an account is signed in, newest first': '账号的登录位置，按时间倒序',
  'All accounts': '所有账号',
  'Change an account; only the named keys change, and with an Idempotency-Key the balance only once':
    '修改账号；只更改所列的键；附带 Idempotency-Key 时余额只变动一次',
  "One video: its timeline, cost and the vendor's responses": '单个视频：时间线、费用与供应商响应',
  'Videos of all accounts, newest first': '所有账号的视频，按时间倒序',
  'Videos that wait for a slot, by model and limit; the longest wait first':
    '排队中的视频，按模型与上限分组；等待最久的在前',
  'Create an `sk-` API key; the key is shown once': '创建 `sk-` API 密钥；密钥仅显示一次',
  'End the old secrets of an API key now': '立即使某 API 密钥的旧密钥失效',
  "One of the account's API keys": '自己的一个 API 密钥',
  'API keys of the account': '自己的 API 密钥',
  'Revoke an API key; it stops working at once': '撤销 API 密钥；立即失效',
  'Give an API key a new secret, shown once; the old one works for a while. Id, limits and usage stay':
    '轮换 API 密钥：新密钥仅显示一次，旧密钥保留一段时间；ID、限制与用量不变',
  'Change an API key; only the named keys change': '修改 API 密钥；只更改所列的键',
  'Cancel a batch: no new line starts, waiting videos are refunded, running ones finish':
    '取消批量任务：不再开始新行，排队的视频退款，进行中的继续完成',
  'Cancel a batch of the account': '取消自己的批量任务',
  'Start a batch (OpenAI format): every line of a file is one request': '创建批量任务（OpenAI 格式）：文件每行一个请求',
  'Start a batch by the account itself, without an API key': '以账号本身创建批量任务，无需密钥',
  'Check and price a sheet of videos; `start: true` starts it as a batch if every row is valid':
    '检查视频表格并报价；`start: true` 在所有行有效时开始批量任务',
  'Results of a batch as CSV, without live formulas': '批量任务的结果（CSV，不含可执行公式）',
  'Get a batch': '查询批量任务（OpenAI 格式）',
  'One batch of the account': '自己的一个批量任务',
  'List the batches of the account, newest first': '账号的批量任务，按时间倒序',
  'Lines of a batch in order; kept for 7 days after its end': '批量任务的各行，按顺序；结束后保留 7 天',
  'Batches of the account, newest first': '自己的批量任务，按时间倒序',
  'Start no new line of a batch until it is resumed': '暂停批量任务：恢复前不再开始新行',
  'Pause a batch of the account': '暂停自己的批量任务',
  'Resume a paused batch': '恢复已暂停的批量任务',
  'Resume a batch of the account': '恢复自己的批量任务',
  'Repeat the failed lines of an ended batch as a new batch': '将已结束批量任务中失败的行作为新任务重做',
  "Repeat the failed lines of the account's batch as a new batch": '将自己批量任务中失败的行作为新任务重做',
  'Approve a pending application and notify its author': '通过待处理的申请并通知申请人',
  'Delete an application': '删除申请',
  'One application': '单个申请',
  'Applications of all users; the newest 10,000 that match': '所有用户的申请；最多返回最新的 10,000 条',
  'Reject a pending application and notify its author': '拒绝待处理的申请并通知申请人',
  'Features in beta that accounts can apply for, as the administrators list them': '可申请的内测功能，由管理员列出',
  'Apply for a feature in beta; possible again after a rejection': '申请内测功能；被拒绝后可再次申请',
  'Applications of the account': '自己的申请',
  'Delete a budget': '删除预算',
  'Monthly budgets of the account and its keys, with the amounts spent': '账号与密钥的月度预算及已用金额',
  'Set the monthly budget of the account or of a key. A budget notifies; a key limit blocks':
    '设置账号或密钥的月度预算。预算只提醒；要阻止超支请用密钥限额',
  'Let a channel serve models; those without a catalogue entry get one with the shipped or a suggested price':
    '让渠道提供模型；尚无条目的模型按内置或建议价格创建',
  'Change a channel; only the named keys change': '修改渠道；只更改所列的键',
  'One channel with its health, last errors and unfinished tasks': '单个渠道：健康状态、最近错误与未完成任务',
  'Known services: what to enter for a channel to each of them': '已知的服务及其渠道所需的填写内容',
  'All channels': '所有渠道',
  'Add a channel': '添加渠道',
  'Delete a channel that has no unfinished tasks': '删除没有未完成任务的渠道',
  'Check a credential with the upstream': '向上游验证凭证是否可用',
  'Sign out one Claude Code': '退出一个 Claude Code 登录',
  'Users signed in to Claude Code, last used first': '已登录 Claude Code 的用户，最近使用的在前',
  'Tokens of a message by Claude Code; free of charge': '计算 Claude Code 消息的 token 数；免费',
  'Begin a sign-in of Claude Code (RFC 8628 section 3.1); needs no parameter':
    '开始 Claude Code 登录（RFC 8628 第 3.1 节）；无需参数',
  'Whether the gateway responds and the token works': '网关是否可用、令牌是否有效',
  'Receive the logs of the program and discard them': '接收程序日志并丢弃',
  'Message by Claude Code, streamed or not': 'Claude Code 的消息，支持流式',
  'Metadata of the gateway that Claude Code signs in to': 'Claude Code 登录所用网关的元数据',
  'Receive the metrics of the program and discard them': '接收程序指标并丢弃',
  "Models the user may call, paged in the form of Anthropic's API": '用户可调用的模型，按 Anthropic 格式分页',
  'Sign out the Claude Code that a token belongs to (RFC 7009); an unknown token gets the same response':
    '退出令牌所属的 Claude Code 登录（RFC 7009）；未知令牌的响应相同',
  'The managed settings of the site with their checksum as ETag; 404 where there are none':
    '站点的托管设置，以校验和作 ETag；未设置时返回 404',
  'Poll for the tokens of a Claude Code sign-in, or refresh them; needs no client':
    '轮询或刷新 Claude Code 登录的令牌；无需客户端',
  'Receive the traces of the program and discard them': '接收程序追踪并丢弃',
  'Spend limits of the user and the amounts used; 404 where there are none':
    '用户的消费上限与已用金额；未设置时返回 404',
  'The managed settings that Claude Code receives from this site': '本站下发给 Claude Code 的托管设置',
  'Replace the managed settings of Claude Code; those that can run programs need confirm and the password or a code':
    '替换 Claude Code 的托管设置；可运行程序的设置需要 confirm 以及密码或验证码',
  'The logo of the site, or the default mark in its colour': '站点标志，或其主题色的默认标志',
  "The same, with the styles of the server's own pages": '同上，含服务端页面的样式',
  'Colours, type, spaces and motion as CSS variables': '颜色、字体、间距与动效的 CSS 变量',
  'Approve the device that shows this user_code': '允许显示该 user_code 的设备登录',
  'Begin a device sign-in: a code to poll with and a code to show': '开始设备登录：返回轮询码与显示码',
  'Deny the device that shows this user_code': '拒绝显示该 user_code 的设备',
  'Sign in on the authorization page; needs a pending user_code and claims it for the account':
    '在授权页登录；需要待确认的 user_code，并将其归属于该账号',
  "End one of the account's device sign-ins; its tokens stop working at once": '结束自己的一个设备登录；其令牌立即失效',
  'Devices signed in to the account and applications with access, newest first':
    '已登录的设备与已授权的应用，按时间倒序',
  'End the device sign-in of the bearer access_token, which may be expired':
    '结束 access_token 所属的设备登录；已过期的令牌也可',
  'Poll for the tokens; they are returned once': '轮询令牌；仅返回一次',
  'Exchange a refresh_token, once, for a new pair': '用 refresh_token 换取一对新令牌；仅可使用一次',
  'Rename a device; an empty name restores that of its client': '重命名设备；留空则恢复客户端名称',
  'The state of a user_code; success is true only while it is pending':
    'user_code 的状态；仅在待确认时 success 为 true',
  'Add a second active secret, for rotation; shown once': '添加第二个有效密钥用于轮换；仅显示一次',
  'Create an official client; its secret is shown once': '创建官方客户端；密钥仅显示一次',
  'Delete a client and end all its device sign-ins': '删除客户端并结束其全部设备登录',
  'Revoke one of two secrets': '撤销两个密钥之一',
  'One official client': '单个官方客户端',
  'Official clients of device authorization': '设备授权的官方客户端',
  'Change a client or disable it: no new codes, polls or refreshes from then on; making it public ends its secrets':
    '修改或停用客户端：此后不再发码、轮询或刷新；改为公开会使其密钥失效',
  'Form of the page: approve the device': '页面表单：允许设备登录',
  'Form of the page: deny the device': '页面表单：拒绝设备',
  'Form of the page: sign in with a password': '页面表单：用密码登录',
  'Form of the page: name the approved device': '页面表单：为已允许的设备命名',
  'The page on which a user approves a device; without a code it asks for one':
    '用户确认设备的页面；没有验证码时会要求输入',
  'Form of the page: sign in with a passkey': '页面表单：用通行密钥登录',
  'Script of the passkey buttons of the page, which works without it': '页面通行密钥按钮的脚本；没有它页面也可使用',
  'Form of the page: report a denied request, which blocks its origin for an hour':
    '页面表单：举报被拒绝的请求，其来源一小时内不能再请求',
  'Form of the page: finish the sign-in with a TOTP code, a backup code or a passkey':
    '页面表单：用动态验证码、备用码或通行密钥完成登录',
  'Form of the page: sign out to use another account': '页面表单：退出以使用其他账号',
  'Events of the account, oldest first; administrators also see those for administrators':
    '账号的事件，按时间正序；管理员还可见管理员事件',
  'Delete a file': '删除文件（OpenAI 格式）',
  'Delete a file of the account': '删除自己的文件',
  'Download a file by a short-lived signed URL, without a key': '通过短期签名地址下载文件，无需密钥',
  'Get a file': '查询文件（OpenAI 格式）',
  'Download a file; Range and HEAD work': '下载文件；支持 Range 与 HEAD',
  'One file of the account': '自己的一个文件',
  'List the files of the account, newest first': '账号的文件，按时间倒序',
  'Files of the account, newest first': '自己的文件，按时间倒序',
  'Upload a file (OpenAI format): an image, a video, a sound, or the lines of a batch':
    '上传文件（OpenAI 格式）：图片、视频、音频或批量任务的行',
  'Upload a file by the account itself, without an API key': '以账号本身上传文件，无需密钥',
  'End the sessions a logout_token names (OpenID Connect Back-Channel Logout 1.0)':
    '结束 logout_token 所指的会话（OpenID Connect 反向登出 1.0）',
  'Unlink an identity; refused for the last way to sign in': '取消关联身份；最后一种登录方式不可取消',
  'The account of the cookie `session` alone, for a page reached by a redirect after signing in':
    '仅凭 `session` Cookie 返回账号，供登录后跳转的页面使用',
  'Callback of the identity provider: signs in, or links the identity': '身份提供方的回调：登录或关联身份',
  'Identities at identity providers that sign in to the account': '可登录本账号的外部身份',
  'Begin linking an identity; open the url in the same browser. Requires the second step or the password':
    '开始关联身份；请在同一浏览器打开 url。需要两步验证或密码',
  'Begin signing in at an identity provider: redirects the browser to it': '开始通过身份提供方登录：将浏览器跳转过去',
  'Check the settings of an identity provider: metadata, signing keys, client id and secret':
    '检查身份提供方的设置：元数据、签名密钥、客户端 ID 与密钥',
  'Audit the ledger: the entries since the last audit and every balance; each entry is read again once a day':
    '核对账目：上次核对以来的记录与全部余额；每条记录每天重新读取一次',
  'Usage of all accounts, by day, model, API key, account, organization and channel':
    '所有账号的用量，按天、模型、密钥、账号、组织与渠道',
  "The spending limit of this key: its own, else the balance of its account, in OpenAI's former format":
    '该密钥可用金额：自身限额，否则为账号余额（OpenAI 旧格式）',
  "The spending of this key in hundredths, in OpenAI's former format":
    '该密钥已用金额，单位为百分之一（OpenAI 旧格式）',
  "Available and used amounts of this key, in new-api's format": '该密钥的可用与已用金额（new-api 格式）',
  'Usage of the account, by day, model and API key': '账号用量，按天、模型与密钥',
  'Changes of all balances, newest first': '所有余额的变动，按时间倒序',
  'Sign-ins to accounts the caller manages, with failed attempts, newest first':
    '所管理账号的登录与失败尝试，按时间倒序',
  'Why the session of the cookie `session` ended, kept for a week; null: still active or unknown':
    '`session` Cookie 的会话为何结束，保留一周；null 表示仍有效或未知',
  'Sign-ins to the account, with failed attempts, newest first': '本账号的登录与失败尝试，按时间倒序',
  'Create a mailbox; an existing one is returned unchanged': '申请邮箱；已有邮箱则原样返回',
  'App password for mail programs, checked against the mail server': '供邮件程序使用的应用专用密码，并与邮件服务器核对',
  'Whether e-mails can be sent, the queue length and the last failure': '邮件能否发送、待发数量与最近的错误',
  'Mailbox address and password of the account': '自己的邮箱地址与密码',
  'Replace the app password; the old one stops working': '更换应用专用密码；旧密码失效',
  'Send a test e-mail to check the SMTP settings': '发送测试邮件以检查 SMTP 设置',
  'Model Context Protocol over Streamable HTTP, versions 2025-06-18, 2025-11-25 and 2026-07-28':
    '模型上下文协议（Streamable HTTP），版本 2025-06-18、2025-11-25 与 2026-07-28',
  'Chat completion, streamed or not': '对话补全，支持流式',
  "Tokens of a message in the form of Anthropic's API; free of charge": '计算消息的 token 数（Anthropic 格式）；免费',
  'Embedding vectors of texts': '文本的嵌入向量',
  "Google's generateContent, streamGenerateContent (with `alt=sse`) and countTokens, as `{model}:{method}`; the key may be in the query":
    'Google 的 generateContent、streamGenerateContent（`alt=sse`）与 countTokens，路径为 `{model}:{method}`；密钥可放在查询参数中',
  'Images from a text': '由文本生成图片',
  "Message in the form of Anthropic's API, streamed or not": '消息接口（Anthropic 格式），支持流式',
  "Chat completion by the account itself, as the console's playground sends it":
    '以账号本身调用对话补全，供控制台体验页使用',
  "Images by the account itself, as the console's playground sends them": '以账号本身生成图片，供控制台体验页使用',
  "Response in the form of OpenAI's Responses API, streamed or not": 'OpenAI Responses API 格式的响应，支持流式',
  'Add a model or an alias': '添加模型或别名',
  'Delete a model that no channel and no alias names': '删除没有渠道与别名引用的模型',
  'Change a model; only the named keys change': '修改模型；只更改所列的键',
  "One model this key may call, in the form of Google's API": '该密钥可调用的一个模型（Google 格式）',
  'One model this key may call': '该密钥可调用的一个模型',
  'One model': '单个模型',
  "Models this key may call, in the form of Google's API": '该密钥可调用的模型（Google 格式）',
  'All models with their prices': '所有模型及价格',
  "Models this key may call; paged in the form of Anthropic's API with the header anthropic-version, in Google's with x-goog-api-key":
    '该密钥可调用的模型；带 anthropic-version 请求头时按 Anthropic 格式分页，带 x-goog-api-key 时为 Google 格式',
  'Models this account can call now, with abilities and prices': '账号当前可调用的模型及其能力与价格',
  'All vendors for channels: credentials, base URL, models': '可建渠道的供应商：凭证、接口地址与模型',
  'Publish an announcement to all accounts': '向所有账号发布公告',
  'Delete an announcement for all accounts': '为所有账号撤回公告',
  'One announcement': '单条公告',
  Announcements: '公告',
  'Correct an announcement; only the named keys change, and it does not become unread again':
    '修改公告；只更改所列的键，且不会重新变为未读',
  'Unanswered tickets and beta applications, for administrators; 0 for all others':
    '待处理的工单与内测申请（管理员）；其他人为 0',
  'Number of unread notifications': '未读通知数',
  'When notifications are e-mailed to this account': '何时向该账号发送邮件通知',
  'Notification topics of this account': '该账号接收的通知类型',
  'Notifications of the account, newest first': '自己的通知，按时间倒序',
  'Mark all notifications, or those of one audience, as read': '将全部或某一类通知标为已读',
  'Mark a notification as read': '将一条通知标为已读',
  'Change when notifications are e-mailed; only the named keys change': '修改邮件通知的时间；只更改所列的键',
  'Switch topics on or off, in the console and by e-mail; only the named ones change':
    '开启或关闭通知类型（控制台与邮件）；只更改所列的类型',
  'New notifications as server-sent events: `notification` with one, `unread` with {unread_count}. Last-Event-ID resumes without loss':
    '以服务器发送事件推送新通知：`notification` 含一条通知，`unread` 含 {unread_count}；可用 Last-Event-ID 无损续传',
  'Metadata of the management and model APIs as a protected resource (RFC 9728)':
    '受保护资源元数据：管理与模型 API（RFC 9728）',
  'Metadata of the MCP server as a protected resource (RFC 9728)': '受保护资源元数据：MCP 服务（RFC 9728）',
  'Form of the page: approve the application, within limits; returns to it with a code':
    '页面表单：在限制内允许应用，并携带 code 返回应用',
  'The page on which a user approves an application (RFC 6749 section 4.1, PKCE required)':
    '用户授权应用的页面（RFC 6749 第 4.1 节，须用 PKCE）',
  'Form of the page: deny; returns to the application with access_denied':
    '页面表单：拒绝，并以 access_denied 返回应用',
  'Begin a device sign-in (RFC 8628 section 3.1); client_name and device_id as on the JSON endpoint':
    '开始设备登录（RFC 8628 第 3.1 节）；client_name 与 device_id 同 JSON 接口',
  'Authorization server metadata (RFC 8414)': '授权服务器元数据（RFC 8414）',
  'End the device sign-in that a token belongs to (RFC 7009); an unknown token gets the same response':
    '结束令牌所属的设备登录（RFC 7009）；未知令牌的响应相同',
  'Exchange a code (RFC 6749 section 4.1.3), poll for tokens (RFC 8628 section 3.4) or refresh them':
    '用 code 换取令牌（RFC 6749 第 4.1.3 节）、轮询令牌（RFC 8628 第 3.4 节）或刷新令牌',
  'The same metadata at the location of OpenID Connect; no id_token is issued':
    '同样的元数据，位于 OpenID Connect 客户端查找的位置；不签发 id_token',
  'Join an organization with the token of an invitation': '用邀请令牌加入组织',
  'All organizations, newest first': '所有组织，按时间倒序',
  'Change balance, status or limits of an organization; with an Idempotency-Key the balance only once':
    '修改组织的余额、状态或限制；附带 Idempotency-Key 时余额只变动一次',
  'Invite someone by a link that works once; e-mailed if an address is named and the service sends e-mail':
    '用一次性链接邀请成员；填写邮箱且服务可发邮件时会发送邮件',
  'Create an organization; the caller becomes its owner': '创建组织；调用者成为所有者',
  'Revoke an invitation': '撤销邀请',
  'One organization of the caller': '调用者所在的一个组织',
  'Open invitations': '未接受的邀请',
  'Members of an organization': '组织成员',
  'Organizations of the caller': '调用者所在的组织',
  "Remove a member, or leave; ends the member's keys and sign-ins in the organization":
    '移出成员或退出组织；该成员在组织中的密钥与登录随之失效',
  'Change role or spend limit of a member; admins change members, owners everyone':
    '修改成员的角色或消费上限；管理员可改成员，所有者可改所有人',
  'Change an organization (admins), or whether admins see the prompts of members (owners)':
    '修改组织（管理员），或管理员能否查看成员的提示词（所有者）',
  'Mark a video as favourite': '收藏视频',
  'Cancel a waiting video and refund it': '取消排队中的视频并退款',
  "Delete a finished video from the account's list": '从自己的列表中删除已完成的视频',
  "Storage used by the account's videos": '账号视频占用的存储空间',
  'Task ids of favourites, newest video first; GET /api/videos?favourite=true has the videos':
    '收藏视频的任务 ID，按时间倒序；视频见 GET /api/videos?favourite=true',
  'Durations from request to result, measured from the newest finished videos of all accounts':
    '从提交到完成的用时，按所有账号最近完成的视频统计',
  'Give a finished video a poster; once, if it has none': '为已完成且没有封面的视频设置封面；仅一次',
  'Price of a video, and how many the account can pay for; starts nothing. The body of POST /v1/videos':
    '视频的价格及可生成的数量；不会开始生成。请求体同 POST /v1/videos',
  'Price of a video, and how many the account can pay for; starts nothing and rejects what a submit would reject':
    '视频的价格及可生成的数量；不会开始生成，并拒绝提交时会被拒绝的请求',
  'Remove a video from the favourites': '取消收藏视频',
  'Start a video by the account itself, without an API key; Idempotency-Key as for the model API':
    '以账号本身提交视频，无需密钥；Idempotency-Key 同模型 API',
  'The console, and the addresses of its pages': '控制台及其页面地址',
  'Entry point for language models': '语言模型的入口文件',
  'This reference as OpenAPI 3.1': '本参考（OpenAPI 3.1）',
  'This reference as Markdown': '本参考（Markdown）',
  'Guide and reference as a page, in English and Chinese': '指南与参考页面，中英文',
  'Script of that page, which works without it': '该页面的脚本；没有它页面也可使用',
  'Add the passkey that the browser created': '添加浏览器创建的通行密钥',
  'Remove the passkeys and the two-step verification of an account whose owner lost them; ends its sign-ins':
    '为丢失验证方式的账号移除通行密钥与两步验证；并结束其登录',
  'Passkeys of the account, oldest first': '账号的通行密钥，按添加时间排序',
  "Begin to add a passkey, after proving the owner's presence by password, code or another passkey":
    '开始添加通行密钥；须先以密码、验证码或其他通行密钥证明本人操作',
  'Page for password managers to add or manage passkeys': '供密码管理器跳转的通行密钥管理页面',
  'Sign in with a passkey, which counts as both factors; sets the cookie `session`':
    '用通行密钥登录（视为双重验证）；设置 `session` Cookie',
  'Begin a sign-in with a passkey, or a proof of presence with one': '开始通行密钥登录，或以其证明本人操作',
  'Remove a passkey, unless the account could then no longer sign in': '移除通行密钥；若账号将无法登录则拒绝',
  'Rename a passkey': '重命名通行密钥',
  'Assign a plan to an account; `none` ends the current one. With an Idempotency-Key only once':
    '为账号分配套餐；`none` 结束当前套餐；附带 Idempotency-Key 时只分配一次',
  'Create a plan': '创建套餐',
  'Create a batch of redemption codes, shown once': '创建一批兑换码，仅显示一次',
  'Delete a plan without holders and open codes': '删除无人持有且无未用兑换码的套餐',
  'Redemption codes, masked, as CSV without live formulas; at most 10,000':
    '兑换码（已遮盖）的 CSV，不含可执行公式；最多 10,000 条',
  'One plan': '单个套餐',
  'One redemption code, masked': '单个兑换码（已遮盖）',
  'All plans': '所有套餐',
  'Redemption codes, masked': '兑换码（已遮盖）',
  'Batches of redemption codes, newest first': '兑换码批次，最新的在前',
  'Change a plan, for its holders too; only the named keys change': '修改套餐，对持有者同样生效；只更改所列的键',
  'Change the expiry of an unused code, even after it expired': '修改未用兑换码的到期时间，已过期的也可',
  'Revoke the unused codes of a batch': '作废一批未使用的兑换码',
  'Revoke an unused code': '作废未使用的兑换码',
  'The plan of the account: allowances left, resets, forecast and waiting plans':
    '账号的套餐：剩余额度、重置时间、用完预测与待生效套餐',
  'Plans on offer, by level': '可购套餐，按等级',
  'Redeem a code; case, spaces and dashes do not matter': '兑换；忽略大小写、空格与连字符',
  'The receipt of a call or video of the account; administrators can read all':
    '自己的调用或视频的扣费明细；管理员可查看全部',
  'The receipt of a call or video of this key': '该密钥的调用或视频的扣费明细',
  'The receipt of a video of this key': '该密钥的视频的扣费明细',
  "Channels whose vendor reports its charges: last reading, failures, and whether a day's figures match":
    '供应商会报告扣费的渠道：读取时间、失败原因及当日是否一致',
  "Settled amounts against the vendors' charges, by channel and hour, newest first":
    '结算金额与供应商扣费的对比，按渠道与小时，时间倒序',
  "Read the vendor's account now and compare; null where the vendor has no such endpoint":
    '立即读取供应商账号并核对；供应商无此接口时为 null',
  'The requests of all accounts as CSV, at most 50,000 rows': '所有账号的请求记录（CSV），最多 50,000 行',
  'The requests of the account as CSV, at most 50,000 rows': '账号的请求记录（CSV），最多 50,000 行',
  'Success rate, durations and cost of the newest 20,000 matching calls, of all accounts':
    '所有账号最近 20,000 次匹配调用的成功率、用时与费用',
  'Success rate, durations and cost of the newest 20,000 matching calls': '最近 20,000 次匹配调用的成功率、用时与费用',
  'Finished calls and videos of all accounts, newest first': '所有账号已结束的调用与视频，按时间倒序',
  'Finished calls and videos of the account, newest first': '账号已结束的调用与视频，按时间倒序',
  'Calls and videos of all accounts as they finish, as server-sent events':
    '所有账号的调用与视频结束时的服务器发送事件',
  'Calls and videos of the account as they finish, as server-sent events: `request` with one row':
    '账号的调用与视频结束时的服务器发送事件：`request` 含一行',
  'Service status: incidents, processes, costs of the last day and rejected calls':
    '服务状态：事件、进程、近一日成本与被拒绝的调用',
  'Version and settings for clients before sign-in': '版本及客户端登录前所需的设置',
  'Whether the process is alive': '进程是否存活',
  'Metrics for Prometheus, with METRICS_TOKEN': 'Prometheus 指标，需 METRICS_TOKEN',
  'Whether this process accepts requests (200) or not (503, with the reason); responds within 2 seconds':
    '进程是否可接收请求（200）或不可（503，含原因）；2 秒内响应',
  'The settings of the site with their sources': '站点设置及其来源',
  'Store a setting, in effect on every process within seconds; null restores the default':
    '保存设置，数秒内在所有进程生效；null 恢复默认值',
  'Delete a ticket and its replies': '删除工单及其回复',
  'One ticket with replies and notes': '单个工单，含回复与备注',
  'Tickets of all users; the newest 10,000 that match': '所有用户的工单；最多返回最新的 10,000 条',
  'Reply to a ticket, or leave a note for administrators': '回复工单，或留下仅管理员可见的备注',
  'Set the status of a ticket and notify its author': '设置工单状态并通知提交人',
  'Close a ticket of the account': '关闭自己的工单',
  'One ticket of the account with its replies': '自己的一个工单及其回复',
  'Tickets of the account': '自己的工单',
  'Open a ticket': '提交工单',
  'Reply to a ticket of the account; a resolved one opens again': '回复自己的工单；已解决的会重新打开',
  "Start or query a video with Jimeng's own body; Action in the query decides":
    '以即梦原生请求体提交或查询视频；由查询参数 Action 决定',
  "Start or query a video, request and response in Jimeng's own format; Action in the query decides":
    '以即梦原生格式提交或查询视频；由查询参数 Action 决定',
  "Start a video with Kling's own body, from an image": '以可灵原生请求体由图片生成视频',
  'Get a task of this kind': '查询此类任务',
  "Start a video from an image, request and response in Kling's own format": '由图片生成视频，请求与响应均为可灵格式',
  "Get a task of this kind by its id or external_task_id, in Kling's own format":
    '按任务 id 或 external_task_id 查询（可灵格式）',
  "List the tasks of this kind and key in Kling's own format": '该密钥的此类任务列表（可灵格式）',
  "Start a video from images, videos and elements, request and response in Kling's own format":
    '由图片、视频与主体生成视频，请求与响应均为可灵格式',
  "Start a video from text, request and response in Kling's own format": '由文本生成视频，请求与响应均为可灵格式',
  "Start a video with Kling's own body, from images, videos and elements": '以可灵原生请求体由图片、视频与主体生成视频',
  "Start a video with Kling's own body, from text": '以可灵原生请求体由文本生成视频',
  'One video model this key may call': '该密钥可调用的一个视频模型',
  'Video models this key may call: inputs, lengths, sizes, operations, parameters, price':
    '该密钥可调用的视频模型：输入、时长、尺寸、操作、参数与价格',
  'Create a link to a page on which anyone with the link can watch a finished video':
    '创建分享链接：任何持有链接的人都可观看该视频',
  'End a link at once, including playback in progress': '立即使链接失效，包括正在进行的播放',
  'Active links of all videos of the account, newest first': '账号所有有效的分享链接，按时间倒序',
  'Active links of a video, newest first': '某视频的有效分享链接，按时间倒序',
  'The page of a share link; asks for the password if the link has one': '分享页面；设有密码时会要求输入',
  'The poster of the video of a share link': '分享视频的封面',
  'The video of a share link': '分享的视频文件',
  'Form of the page: the password of the link': '页面表单：链接密码',
  'Not offered: returns operation_unsupported': '不提供：返回 operation_unsupported',
  'Delete a finished video; one that waits for a slot is cancelled instead, and stays readable as failed':
    '删除已完成的视频；排队中的视频则被取消，并保留为失败记录',
  'Edit a finished video or a file': '编辑已完成的视频或文件',
  'Continue a finished video or a file; seconds is the length of the new part':
    '续拍已完成的视频或文件；seconds 为新增部分的时长',
  'Download the video file; Range and HEAD work': '下载视频文件；支持 Range 与 HEAD',
  'Get a task (unified format)': '查询任务（统一格式）',
  'One video of the account with an address for playing it': '自己的一个视频及其播放地址',
  'Get a video (OpenAI format); with `wait`, once it has ended or after that many seconds':
    '查询视频（OpenAI 格式）；带 `wait` 时在结束后或等待相应秒数后返回',
  'Videos of all keys of the account, newest first': '账号所有密钥的视频，按时间倒序',
  'List the videos of this key': '该密钥的视频列表',
  'The file behind a signed, short-lived URL': '短期签名地址对应的文件',
  'Remix a finished Sora-style video': '以已完成的 Sora 类视频重新生成',
  'The video at each change until it has ended, as server-sent events: `video.queued`, `video.in_progress`, `video.completed`, `video.failed`':
    '以服务器发送事件推送视频的每次变化直至结束：`video.queued`、`video.in_progress`、`video.completed`、`video.failed`',
  'Start a video (unified format)': '提交视频（统一格式）',
  'Start a video (OpenAI format)': '提交视频（OpenAI 格式）',
  'Add a webhook endpoint; its signing secret is shown once. An account has 10 at most':
    '添加 Webhook；签名密钥仅显示一次，每个账号最多 10 个',
  'Delete a webhook endpoint and its deliveries': '删除 Webhook 及其推送记录',
  'The secret that signs deliveries to the callback_url of single requests':
    '对单次请求 callback_url 的推送进行签名的密钥',
  'One webhook endpoint': '单个 Webhook',
  'Deliveries to the callback_url of single requests, newest first': '对单次请求 callback_url 的推送，按时间倒序',
  'Deliveries of an endpoint with request and response, newest first': 'Webhook 的推送记录（含请求与响应），按时间倒序',
  'Webhook endpoints of the account': '自己的 Webhook',
  'Redeliver the events of a period, delivered ones included, each with its webhook-id':
    '重新推送一段时间内的事件（含已送达的），webhook-id 不变',
  'Redeliver an event now, with its webhook-id': '立即重新推送，webhook-id 不变',
  'Replace the secret for callbacks; the old one signs beside the new one for 24 hours':
    '更换回调签名密钥；旧密钥在 24 小时内同时签名',
  'Create a new signing secret, shown once; the old one signs beside it for 24 hours':
    '更换签名密钥，仅显示一次；旧密钥在 24 小时内同时签名',
  'Deliver an event of the type `webhook.test`': '推送一个 `webhook.test` 类型的事件',
  'Change a webhook endpoint; only the named keys change': '修改 Webhook；只更改所列的键',
  'Add videos to a collection, all or none; those already in it stay':
    '将视频加入合集，全部成功或全部不变；已在其中的保留',
  'Create an empty collection; its name must be free': '创建空合集；名称不可重复',
  'Delete a collection; its videos stay': '删除合集；其中的视频保留',
  'Collections of the account by name; GET /api/videos?collection=ID has the videos of one':
    '账号的合集，按名称；其中的视频见 GET /api/videos?collection=ID',
  'Remove videos from a collection; they are not deleted': '从合集移出视频；视频不会被删除',
  'Rename a collection': '重命名合集',
  'Close an organization; it is deleted after 30 days': '关闭组织；30 天后删除',
  'Restore a closed organization': '恢复已关闭的组织',
  'Transfer content and balance of your own account to an organization (admins)':
    '将自己账号的内容与余额移交给组织（管理员）',
  'Close an organization (owners): its keys and sign-ins are refused; deleted after 30 days':
    '关闭组织（所有者）：其密钥与登录被拒绝；30 天后删除',
  'Transfers to an organization, newest first (admins)': '移交到组织的记录，按时间倒序（管理员）',
  'Restore a closed organization (owners); send it without X-Organization':
    '恢复已关闭的组织（所有者）；请求不带 X-Organization',
  'What works, and the outages of the last 30 days, newest first; 404 unless STATUS_PAGE is on':
    '运行状态与最近 30 天的故障，按时间倒序；未开启 STATUS_PAGE 时返回 404',
  'What works, and the outages of the last 30 days, as a page; 404 unless STATUS_PAGE is on':
    '运行状态与最近 30 天的故障（页面）；未开启 STATUS_PAGE 时返回 404',
};
