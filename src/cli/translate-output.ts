/**
 * Chinese texts of what commands print, by the English ones; `#` stands for a value. Results in a pipe stay English,
 * since scripts read them.
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
  ['# Trying again in # …', '# 将在 # 后重试…'],
  ['# Trying again …', '# 正在重试…'],
  ['Signed in to # as #.', '已登录 #，账号 #。'],
  ['The tokens are in #.', '令牌保存在 #。'],
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

  // Videos
  ['Task #', '任务 #'],
  ['File #', '文件 #'],
  ['A file needs a model: choose one with --model.', '文件需要指定模型：请用 --model 选择。'],
  ['It cost #; you waited #.', '费用 #，等待 #。'],
  ['Videos of this model usually take #; nine of ten take at most #.', '此模型通常需要 #，九成不超过 #。'],
  ['# The task continues; polling again …', '# 任务仍在继续，正在重新查询…'],
  ['# The batch continues; polling again …', '# 批量任务仍在继续，正在重新查询…'],
  ['Batch #', '批量任务 #'],
  ['The task continues. Wait for it with "#".', '任务仍在继续，可用“#”等待。'],
  ['Done. Download it with "#".', '完成，可用“#”下载。'],
  ['Saved #.', '已保存 #。'],
  ['Deleted #.', '已删除 #。'],
  ['Cancelled #. Nothing is charged.', '已取消 #，不扣费。'],
  ['Link # was revoked.', '链接 # 已吊销。'],
  ['There are older ones: --after #', '还有更早的：--after #'],
  ['Page # of #: --page #', '第 # 页，共 # 页：--page #'],
  ['Page # of #; more with --page #.', '第 # 页，共 # 页；更多请用 --page #。'],
  ['No videos yet. Generate one with "#".', '还没有视频，可用“#”生成。'],
  ['No links. Create one with "#".', '没有链接，可用“#”创建。'],

  // Account
  ['No device is signed in.', '没有已登录的设备。'],
  ['Ended sign-in #.', '已结束登录 #。'],
  ['You belong to no organization.', '您不属于任何组织。'],
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
  ['Revoked key #.', '已吊销密钥 #。'],
  ['Changed key #.', '已修改密钥 #。'],
  ['The old secrets of key # no longer work.', '密钥 # 的旧密钥已失效。'],
  ['No plans are offered here.', '没有可购套餐。'],
  ['# were added to your balance.', '已向余额添加 #。'],
  ['No calls yet.', '还没有调用。'],
  ['You have this mailbox already.', '您已有此邮箱。'],
  ['Your mailbox is ready.', '邮箱已就绪。'],
  ['For mail programs make an application password: "#".', '邮件程序请使用应用专用密码：“#”。'],
  ['The mail server does not accept this password. #', '邮件服务器不接受此密码。#'],
  ['Waiting for notifications. Ctrl-C ends it.', '正在等待通知，Ctrl-C 结束。'],
  ['# unread.', '# 条未读。'],
  ['No tickets.', '没有工单。'],
  ['Opened ticket #.', '已提交工单 #。'],
  ['Replied to ticket #.', '已回复工单 #。'],
  ['Closed ticket #.', '已关闭工单 #。'],
  ['A reply comes as a notification: "#".', '有回复时会收到通知：“#”。'],
  ['No deliveries.', '没有推送记录。'],
  ['Webhook #. Store its signing secret now: it is not shown again.', 'Webhook #。请立即保存签名密钥，之后不再显示。'],
  ['Removed webhook #.', '已删除 Webhook #。'],
  ['Webhook # is enabled.', 'Webhook # 已启用。'],
  ['Webhook # is disabled.', 'Webhook # 已停用。'],
  ['# events are being redelivered.', '正在重新推送 # 个事件。'],
  ['Forwarding events to #, signed with #. Ctrl-C ends it.', '正在将事件转发到 #，签名密钥 #。Ctrl-C 结束。'],

  // Chat
  ['Chatting with #. Ctrl-D ends it.', '正在与 # 对话，Ctrl-D 结束。'],
  ['The response was cut off at the maximum length.', '响应达到最大长度，已截断。'],
  ['# input tokens, # output tokens', '输入 # 令牌，输出 # 令牌'],

  // Errors
  ['Error:', '错误：'],
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
  ['Set the URL of the service with --url or REELGATE_URL.', '请用 --url 或 REELGATE_URL 设置服务地址。'],
  ['The service at # redirects to #. Use that URL.', '服务 # 重定向到 #，请使用该地址。'],
  ['The service at # cannot be reached.', '无法连接服务 #。'],
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
    'REELGATE_API_KEY was sent. Create an API key in the console under API keys, or unset it to sign in.',
    '已发送 REELGATE_API_KEY。请在控制台创建 API 密钥，或取消设置后登录。',
  ],
  ['Request: #', '请求编号：#'],
];

const RULES = OUTPUT_ZH_CN.map(([english, chinese]) => {
  const pattern = english
    .split('#')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('(.+?)');
  return [new RegExp(`^${pattern}$`, 's'), chinese] as const;
});

/** Translates a text that a command prints to a person; unknown texts stay unchanged. */
export function translateOutput(text: string): string {
  for (const [pattern, chinese] of RULES) {
    const values = pattern.exec(text)?.slice(1);
    if (values !== undefined) return chinese.replace(/#/g, () => values.shift() ?? '');
  }
  return text;
}
