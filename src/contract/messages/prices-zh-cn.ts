/** Chinese notes on the sources of default prices, by the English ones of the vendors. */
export const PRICE_NOTES_ZH_CN: Readonly<Record<string, string>> = {
  'From the list of 2025. The list of September 2026 does not have this model any more.':
    '取自 2025 年的价目表；2026 年 9 月的价目表已无此模型。',
  'Copied by github.com/aself101/kling-api; docs.comfy.org/tutorials/partner-nodes/pricing agrees.':
    '据 github.com/aself101/kling-api 的副本，与 docs.comfy.org/tutorials/partner-nodes/pricing 一致。',
  'Read in copies of the pages 1792710 and 1777001; only videos that succeed are billed.':
    '据页面 1792710 和 1777001 的副本；仅成功的视频计费。',
  'Six and ten seconds quoted by eachlabs.ai; 1080P as Hailuo-02.':
    '6 秒和 10 秒的价格引自 eachlabs.ai；1080P 按 Hailuo-02 计。',
  'Compared with the list in yuan (1.35, 2.25 and 2.31), quoted by github.com/ArcReel/ArcReel.':
    '与 github.com/ArcReel/ArcReel 引用的人民币价目表（1.35、2.25 和 2.31 元）核对。',
  'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing; 512P is older and unconfirmed.':
    '引自 docs.comfy.org/tutorials/partner-nodes/pricing；512P 的价格较旧，未经核实。',
  'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing.': '引自 docs.comfy.org/tutorials/partner-nodes/pricing。',
  'From the list of 2025; no later copy was found.': '取自 2025 年的价目表，未找到更新的副本。',
  'Quoted by docs.laozhang.ai/en/announcements/minimax-h3-2026-10.':
    '引自 docs.laozhang.ai/en/announcements/minimax-h3-2026-10。',
  'Quoted by three clients in September 2026; the list in yuan (0.33 and 0.50) was quoted on 10 September.':
    '2026 年 9 月有三个客户端引用；人民币价目表（0.33 和 0.50 元）于 9 月 10 日被引用。',
  'Quoted by a survey of both regions dated 2026-08-01. Half price of offline inference is left out.':
    '引自 2026-08-01 对两个区域的调查；未计入离线推理的半价。',
  '4k of 2.5 as 1080p, unconfirmed. Quoted by docs.laozhang.ai/en/announcements/seedance-pricing-2026-10. Half price of offline inference is left out.':
    '2.5 的 4k 按 1080p 计，未经核实。引自 docs.laozhang.ai/en/announcements/seedance-pricing-2026-10；未计入离线推理的半价。',
  'Quoted, with the vendor’s examples, by a survey of both regions dated 2026-08-01.':
    '引自 2026-08-01 对两个区域的调查，附供应商的示例。',
  'Worked out from the credits of docs.comfy.org/tutorials/partner-nodes/pricing; no copy of the list has it. 4k as 1080p, Flash as 2.5.':
    '由 docs.comfy.org/tutorials/partner-nodes/pricing 的点数换算，价目表的副本均无此项。4k 按 1080p 计，Flash 按 2.5 计。',
  'From the list of 2025 and early 2026; no copy with this model was found.':
    '取自 2025 年及 2026 年初的价目表，未找到含此模型的副本。',
  'Quoted by docs.crazyrouter.com/video/wan.': '引自 docs.crazyrouter.com/video/wan。',
  'As wan2.6-i2v-flash; a public price table of a client agrees.':
    '按 wan2.6-i2v-flash 计，与一个客户端公开的价格表一致。',
  'Quoted by github.com/ArcReel/ArcReel (lib/config/registry.py, docs/research).':
    '引自 github.com/ArcReel/ArcReel（lib/config/registry.py、docs/research）。',
  'The rates of the series by two clients; that seconds of the input count is said by docs.evolink.ai.':
    '该系列的费率据两个客户端；输入视频的秒数计费一说据 docs.evolink.ai。',
  '2.1 times the rates of wan3.0-video, as docs.apiyi.com says.': '为 wan3.0-video 费率的 2.1 倍，据 docs.apiyi.com。',
  'Tokens of video by the second: 5,792 at 720p. 1.2 as quoted by inference.sh, 1.1 by wavespeed.ai and docs.comfy.org. Tokens of the prompt, its images and of thinking are left out: less than a second together.':
    '每秒视频的 token 数：720p 为 5,792。1.2 引自 inference.sh，1.1 引自 wavespeed.ai 和 docs.comfy.org。未计入提示词、图片和思考的 token，合计不足一秒的价格。',
  'Quoted by github.com/ArcReel/ArcReel and docs.comfy.org/tutorials/partner-nodes/pricing, which agree.':
    '引自 github.com/ArcReel/ArcReel 和 docs.comfy.org/tutorials/partner-nodes/pricing，两者一致。',
  'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing; sound on references and off-peak are left out. 540p quoted by 302.ai/product/detail/viduq3-turbo.':
    '引自 docs.comfy.org/tutorials/partner-nodes/pricing；未计入参考素材的声音和错峰价。540p 引自 302.ai/product/detail/viduq3-turbo。',
  'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing; sound on references and off-peak are left out. 540p is unconfirmed.':
    '引自 docs.comfy.org/tutorials/partner-nodes/pricing；未计入参考素材的声音和错峰价。540p 未经核实。',
  'As viduq3-pro or viduq3-turbo; no copy of the list has it.':
    '按 viduq3-pro 或 viduq3-turbo 计，价目表的副本均无此项。',
  'Worked out from cloud.baidu.com/doc/VOD/s/dm64ry4hl at 32 credits a yuan.':
    '由 cloud.baidu.com/doc/VOD/s/dm64ry4hl 换算，每元 32 点。',
  'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing. The vendor ended the API on 2026-09-24.':
    '引自 docs.comfy.org/tutorials/partner-nodes/pricing。供应商已于 2026-09-24 停用该 API。',
  'Credits a second as of 2025, one cent each; no later copy of the page was found.':
    '按 2025 年的每秒点数计，每点一美分；未找到该页面更新的副本。',
  'No copy of the page has this model: the rate of its maker at the highest resolution.':
    '页面的副本均无此模型，按其原厂最高分辨率的费率计。',
  'Quoted by muapi.ai; that they are the vendor’s own, and the price of an image, by docs.apiyi.com.':
    '引自 muapi.ai；其为供应商自定价格一说，以及图片的价格，据 docs.apiyi.com。',
  'Quoted by docs.krea.ai and docs.apiyi.com, which agree.': '引自 docs.krea.ai 和 docs.apiyi.com，两者一致。',
};

/** Chinese labels of the lines of a receipt; the English ones are in the strings of the console. */
export const RECEIPT_LINES_ZH_CN = {
  per_call: '每次调用',
  input: '输入 token',
  output: '输出 token',
  cached_input: '缓存命中输入 token',
  cache_write: '缓存写入 token',
  cache_write_1h: '缓存写入 token（1 小时）',
  audio_input: '音频输入 token',
  image_input: '图片输入 token',
  audio_output: '音频输出 token',
  image_output: '图片输出 token',
  per_second: '秒数',
  per_input_image: '输入图片',
  per_input_second: '输入素材秒数',
  per_unit: '供应商计量单位',
  surcharge: '附加费',
  plan_factor: '套餐倍率',
  not_charged: '未扣费',
  total: '合计',
} as const;
