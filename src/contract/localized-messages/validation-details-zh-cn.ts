/**
 * Chinese translations of the validation messages about one field. Capabilities write these messages in English where they
 * reject a value. `#` stands for any inserted value. The first pattern that matches is used.
 */
const SENTENCES: readonly (readonly [english: string, chinese: string])[] = [
  // Forms and bodies.
  ['# is given twice', '# 重复出现'],
  ['# is required to change the password', '修改密码须填写 #'],
  ['# is required to change the e-mail', '修改邮箱须填写 #'],
  ['# is required', '# 不能为空'],
  ['# is missing', '缺少 #'],
  ['# is to be written #', '# 应写作 #'],
  ['Authenticate in one way only', '只能使用一种认证方式'],
  ['Content-Length does not fit the body', 'Content-Length 与请求体不符'],
  ['The body has too many fields', '请求体字段过多'],
  ['The body has too many files', '请求体文件过多'],
  ['The body has too many parts', '请求体分段过多'],
  ['The multipart body is malformed or ends too early', 'multipart 请求体格式错误或不完整'],
  ['The part name is not accepted', '分段名称不被接受'],
  ['The request could not be read', '无法读取请求'],
  ['The request does not have the expected form', '请求格式不符合要求'],
  ['The request is too large to be priced', '请求过大，无法计价'],
  ['Idempotency-Key must be 1 to 255 visible ASCII characters', 'Idempotency-Key 须为 1 至 255 个可见 ASCII 字符'],

  // Settings of the site.
  ['# is set where the service is started', '# 由启动环境设置，须在那里修改'],
  ['# cannot have this value', '# 不能为此值'],
  ['# is required first', '须先设置 #'],

  // Accounts, plans, channels, models.
  ['The password must have 8 to 128 characters', '密码须为 8 至 128 个字符'],
  ['Give quota or quota_delta, not both', 'quota 与 quota_delta 只能填写一个'],
  ['Name either package_code or quota', 'package_code 与 quota 须填写其中一个'],
  ['price.tiers has above_input_tokens # twice', 'price.tiers 中 above_input_tokens # 重复出现'],
  ['price.lines.# has no price', 'price.lines.# 没有价格'],
  ['price.lines.# needs per_unit and max_units together', 'price.lines.# 须同时有 per_unit 与 max_units'],
  ['price.lines.# has more than # decimals', 'price.lines.# 的小数超过 # 位'],
  ['price.lines.# has per_unit, which needs settle_by vendor', 'price.lines.# 有 per_unit，须设 settle_by 为 vendor'],
  ['price has lines, or per_call and per_second, not both', 'price 只能有 lines，或 per_call 与 per_second 二者之一'],
  ['price.settle_by vendor is for videos', 'price.settle_by 为 vendor 时仅用于视频'],
  ['The model has no price for this request', '该模型没有适用于此请求的价格'],
  ['A wallet holds at most #', '余额最多为 #'],
  ['# must be in the future', '# 须为将来的时间'],
  ['Streams are sent as events: alt must be sse', '流以事件发送：alt 须为 sse'],
  ['# cannot be expressed for the upstream of this model', '该模型的上游无法表达 #'],
  ['# has no call it belongs to', '# 没有对应的调用'],
  ['# has more than # texts', '# 超过 # 个文本'],
  ['# must be a number', '# 须为数字'],
  ['# must be texts', '# 须为文本'],
  ['# must be a list', '# 须为列表'],
  ['# names no model', '# 所指的模型不存在'],
  ['# must be a text', '# 须为文本'],
  ['# must be the JSON of an object', '# 须为对象的 JSON'],
  ['# must be an IANA name such as Europe/Berlin', '# 须为 IANA 时区名，例如 Asia/Shanghai'],
  ['# must be a time in Unix seconds', '# 须为 Unix 秒数'],
  ['# must be a whole still JPEG or WebP picture of at most # KiB', '# 须为完整的静态 JPEG 或 WebP 图片，不超过 # KiB'],
  ['# must be a path of the console, such as /packages', '# 须为控制台内的路径，例如 /packages'],
  ['There is no topic "#"', '没有“#”这一通知类型'],
  ['The vendor of a channel cannot change; add another channel', '渠道的供应商不可更改，请另建渠道'],
  ['Give the credentials again: they would go to another address', '请重新填写凭证：地址已更改，凭证将发送到新的地址'],
  [
    'options.max_concurrent_tasks must be a whole number from # to #',
    'options.max_concurrent_tasks 须为 # 至 # 的整数',
  ],
  ['credentials are too long', '凭证过长'],
  ['Give credentials or credential_list', '请填写 credentials 或 credential_list'],
  ['Give either credentials or credential_list', 'credentials 与 credential_list 只能填写一个'],
  ['The channel has no credential #', '该渠道没有凭证 #'],
  ['A new credential needs credentials', '新凭证须填写 credentials'],
  ['credential_list has the same credential twice', 'credential_list 中有重复的凭证'],
  ['credentials do not have the keys # needs: #', '凭证缺少 # 所需的字段：#'],
  ['The model # is of the vendor #, not #', '模型 # 属于供应商 #，而非 #'],
  ['The name of a model cannot change: tasks and the ledger refer to it. Add an alias', '模型名称不可更改，请添加别名'],
  ['A model cannot be an alias of itself', '模型不能是自己的别名'],
  ['There is no model # to stand for', '没有模型 #，无法作为别名目标'],
  ['# is an alias itself, of #; name that one', '# 本身是 # 的别名，请直接指向后者'],
  ['# is an alias of #, which so cannot become one itself', '# 是 # 的别名，因此后者不能再成为别名'],
  ['# makes #, # makes #', '# 生成 #，而 # 生成 #'],
  ['# has more than # decimals', '# 的小数位超过 # 位'],
  ["# must have no path: the vendor's own is added to it", '# 不能带路径：会自动加上供应商的路径'],
  ['# must start with https:// unless options.private is true', '# 须以 https:// 开头，除非 options.private 为 true'],
  ['# must start with https://', '# 须以 https:// 开头'],
  ['# must not hold credentials', '# 不能包含用户名或密码'],
  [
    '# is a loopback or private address, which needs options.private to be true',
    '# 是回环或内网地址，须将 options.private 设为 true',
  ],
  ['# is neither an address nor a CIDR range', '# 既不是 IP 地址，也不是 CIDR 网段'],
  ['# must not set #', '# 不能设置 #'],
  ['# must be the URL of an http or https proxy, without a path', '# 须为 http 或 https 代理的地址，不带路径'],
  ['# is no address', '# 不是有效的地址'],
  ['# is no URL', '# 不是有效的 URL'],
  ['# is too long', '# 过长'],
  ['# names a port that is not allowed', '# 使用了不允许的端口'],
  ['events: # is for administrators', 'events：# 仅供管理员使用'],
  ['# is where a cloud hands out the secrets of its machines', '# 是云平台的元数据地址，不允许使用'],
  ['# cannot be used as a JSON Schema', '# 不能用作 JSON Schema'],
  ['# must have the type object, since it describes a body', '# 描述请求体，类型须为 object'],
  ['# must be a list that is not empty', '# 须为非空列表'],
  ['# must be a schema', '# 须为 schema'],
  ['# may only point to #/$defs/…', '# 只能指向 #/$defs/…'],
  ['# points to nothing', '# 指向的内容不存在'],
  ['# goes in a circle', '# 存在循环引用'],
  ['# is deeper than # levels', '# 嵌套超过 # 层'],
  ['# unfolds into more than # schemas', '# 展开后超过 # 个 schema'],
  ['# is larger than # KB', '# 超过 # KB'],

  // Pictures and addresses.
  ['# is larger than # MB', '# 超过 # MB'],
  ['The pictures together are larger than this address takes', '图片总大小超出此接口的上限'],
  [
    '# is no picture of a known kind (PNG, JPEG, WebP, GIF, BMP, TIFF)',
    '# 不是支持的图片格式（PNG、JPEG、WebP、GIF、BMP、TIFF）',
  ],
  ['The picture at the given address could not be fetched (HTTP #)', '无法获取图片链接（HTTP #）'],
  ['The picture at the given address could not be fetched', '无法获取图片链接'],
  ['The picture at the given address is not a public one', '图片链接不是公网地址'],
  ['The picture at the given address is no picture of a known kind', '图片链接的内容不是支持的图片格式'],
  ['# is no valid address', '# 不是有效的地址'],
  ['# must be a picture in Base64', '# 须为 Base64 编码的图片'],
  ['# must be a public address', '# 须为公网地址'],
  ['# must be an http(s) address, a data URL or Base64', '# 须为 http(s) 地址、data URL 或 Base64'],
  ['# must be an http(s) address', '# 须为 http(s) 地址'],
  ['# must be an http or oss address', '# 须为 http 或 oss 地址'],
  ['# must not carry a user name or password', '# 不能包含用户名或密码'],
  ['# has no address', '# 缺少地址'],

  // Parameters of video, image and chat models.
  ['# is no model of this vendor; ask for it in another format', '# 不属于此供应商，请使用其他格式的接口'],
  ['# and # contradict each other', '# 与 # 不一致'],
  ['external_task_id is taken by another task', 'external_task_id 已被另一任务使用'],
  ['external_task_id must have at most # characters', 'external_task_id 最多 # 个字符'],
  ['callback_url must be an http(s) URL', 'callback_url 须为 http(s) 地址'],
  ['# would have the request sent elsewhere or with other credentials', '# 会使请求发往别处或使用其他凭据'],
  ['# names something stored under the account all callers share', '# 指向所有调用方共用账号下保存的内容'],
  ['# is run and billed by the upstream, apart from the tokens of the call', '# 由上游执行并在令牌用量之外另行计费'],
  ['# is billed apart from the tokens of the call', '# 在令牌用量之外另行计费'],
  ['# would bound the answer in a way that is not the one it is paid by', '# 会以计费方式之外的方式限制回答长度'],
  ['# would make more answers than are paid', '# 会生成多于计费数量的回答'],
  ['# is to be written in small letters', '# 须使用小写字母'],
  ['# is not known here', '# 不是受支持的选项'],
  ['# would ask for other models than the one that is paid', '# 会改用其他模型，与计费的模型不符'],
  ['This model makes one picture a call', '此模型每次只生成一张图片'],
  ['This model answers with addresses', '此模型以图片地址作答'],
  ['This model does not stream at this address', '此模型在此接口不支持流式输出'],
  ['# must end with a text of the user that describes the picture', '# 须以用户描述图片的文字结尾'],
  ['# must be whole seconds, as a string', '# 须为整秒数，以字符串表示'],
  ['# and a second picture both name the last frame', '# 与第二张图片都指定了尾帧'],
  ['# and # differ', '# 与 # 不一致'],
  ['# and # are two different first frames', '# 与 # 指定了两个不同的首帧'],
  ['# and # are two different last frames', '# 与 # 指定了两个不同的尾帧'],
  ['# and # name too many pictures', '# 与 # 指定的图片过多'],
  ['# and # are the same', '# 与 # 重复'],
  ['# are more than # takes', '# 超过 # 支持的数量'],
  [
    '# cannot be used: this model makes 16:9 unless a first frame gives the shape',
    '# 不可用：没有首帧时此模型固定为 16:9',
  ],
  ['# cannot be used: # takes one picture of a face', '# 不可用：# 只接受一张人脸图片'],
  ['# cannot be used: # takes no reference pictures', '# 不可用：# 不支持参考图'],
  ['# cannot be used: # takes # reference pictures', '# 不可用：# 支持 # 张参考图'],
  ['# cannot be used: # takes # pictures', '# 不可用：# 支持 # 张图片'],
  ['# cannot be used: # takes #', '# 不可用：# 支持 #'],
  ['# is always # for this model', '此模型的 # 固定为 #'],
  ['# is needed: # begins with a picture', '缺少 #：# 需要首帧图片'],
  ['# is needed: # changes a video', '缺少 #：# 用于编辑视频'],
  ['# is needed: # keeps the face it shows', '缺少 #：# 需要一张人脸图片'],
  ['# is not a field of # models', '# 不是 # 模型的参数'],
  ['# is not a field of #', '# 不是 # 的参数'],
  ['# is not a storage location this service may write to', '# 不是本服务可写入的存储位置'],
  ['# is not known to this model', '此模型不支持 #'],
  ['# is not known to #', '# 不被 # 支持'],
  ['# is not known', '# 无法识别'],
  ['# is not offered by #', '# 不可用：# 不支持'],
  ['# is always on for #', '# 不可关闭：# 始终开启'],
  ['# belongs into the prompt of #', '# 请写入 # 的提示词中'],
  ['# may hold one picture for this model: the first frame', '此模型的 # 最多一张图片：首帧'],
  ['# needs mode pro for #', '# 需要 pro 模式（#）'],
  ['# is not offered; ask for the task instead', '# 不提供，请改为查询任务'],
  ['# may be seven at most', '# 最多七个'],
  ['# may hold one picture for this model', '此模型的 # 最多一张图片'],
  ['# may hold two pictures for this model: the first and the last frame', '此模型的 # 最多两张图片：首帧和尾帧'],
  ['# may hold # pictures for this model', '此模型的 # 最多 # 张图片'],
  ['# needs one picture, the first frame', '# 须有一张图片作为首帧'],
  ['# must be another model: # does not have #', '# 须为其他模型：# 不提供 #'],
  ['# is required: # makes videos from pictures only', '# 为必填项：# 仅支持图生视频'],
  ['# must be another number of pictures: # makes no video from #', '# 的图片数量不符：# 不支持 # 张图片'],
  ['# must be another number of pictures for #; # do not fit', '# 的图片数量不符合 # 的要求（# 张不可用）'],
  ['# must be # or more pictures for #', '# 须至少 # 张图片（#）'],
  ['# must not carry #: use duration, size or metadata', '# 中不能写 #，请改用 duration、size 或 metadata'],
  ['# must be # to # seconds for #', '# 须为 # 至 # 秒（#）'],
  ['# must be # seconds for # at #', '# 须为 # 秒（#，#）'],
  ['# must be # seconds for #', '# 须为 # 秒（#）'],
  ['# must be # with #', '# 须为 #（#）'],
  ['# must mean # for #', '# 须对应 #（#）'],
  ['# must be width x height in a ratio of # for this model', '# 须为“宽x高”，此模型支持的比例为 #'],
  ['# must be width x height in a ratio of #', '# 须为“宽x高”，比例为 #'],
  [
    '# must be a resolution such as 720p, or a frame such as 1280x720 of #',
    '# 须为分辨率（如 720p），或“宽x高”（如 1280x720），比例为 #',
  ],
  ['# must be one of #, or width x height of #', '# 须为 # 之一，或比例为 # 的“宽x高”'],
  ['# must be #, or width x height of #', '# 须为 #，或比例为 # 的“宽x高”'],
  ['# must be one of #', '# 须为以下之一：#'],
  ['# must be from # to #', '# 须在 # 至 # 之间'],
  ['# must be a list of strings', '# 须为字符串列表'],
  ['# must be a string', '# 须为字符串'],
  ['# must be an integer', '# 须为整数'],
  ['# must be an object', '# 须为对象'],
  ['# must be # for #', '# 须为 #（#）'],
  ['# must be #', '# 须为 #'],
];

/** Longer texts contain caller input and match none of the patterns, so they are not translated. */
const MAX_LENGTH = 300;

const PATTERNS = SENTENCES.map(([english, chinese]) => {
  const source = english
    .split('#')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('(.+?)');
  return [new RegExp(`^${source}\\.?$`), chinese] as const;
});

/** `4, 6 or 8`, as it is listed in Chinese. */
const translateList = (text: string): string =>
  text.replaceAll(', ', '、').replaceAll(' or ', ' 或 ').replaceAll(' and ', ' 和 ');

/** The Chinese translation of a validation message; a message that matches no pattern is returned unchanged. */
export function translateDetail(detail: string): string {
  if (detail.length > MAX_LENGTH) return detail;
  for (const [pattern, chinese] of PATTERNS) {
    const found = pattern.exec(detail);
    if (found === null) continue;
    let place = 0;
    return `${chinese.replace(/#/g, () => translateList(found[++place] ?? ''))}。`;
  }
  return detail;
}
