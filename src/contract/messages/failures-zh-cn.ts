import type { FailureCause } from '../task-states.ts';
import type { FailureText } from './failures-en.ts';

export const FAILURES_ZH_CN = {
  prompt_refused: {
    text: '提示词未通过供应商的内容审核。',
    advice: '请修改提示词，去掉暴力、裸露、真实人名和品牌，再重新生成。',
  },
  picture_refused: {
    text: '图片未通过供应商的内容审核。',
    advice: '请更换图片，或使用不含人物、品牌和敏感内容的图片。',
  },
  likeness_refused: {
    text: '供应商不生成可辨认的真人或知名人物的视频。',
    advice: '请使用没有清晰人脸的图片，提示词中不要出现真实人名。',
  },
  copyright_refused: {
    text: '供应商检测到受版权保护的内容，例如品牌、角色或作品。',
    advice: '请描述原创的主体，不要使用已有的角色、品牌或作品。',
  },
  content_refused: {
    text: '请求未通过供应商的内容审核。',
    advice: '请修改提示词或更换图片，再重新生成。',
  },
  picture_unreadable: {
    text: '图片无法下载或读取。',
    advice: '请上传 PNG 或 JPEG 图片，或确认链接无需登录即可打开。',
  },
  picture_unsuitable: {
    text: '图片不适合该模型：尺寸、比例或内容不符合要求。',
    advice: '请使用每边不少于 300 像素的清晰图片；部分模型要求画面中有清晰的人脸或完整的人物。',
  },
  request_invalid: {
    text: '供应商拒绝了该视频的某项参数。',
    advice: '请更改时长、尺寸、宽高比或质量。下方的供应商原文通常会指明是哪一项。',
  },
  result_refused: {
    text: '视频已生成，但未通过供应商的内容审核，因此没有交付。',
    advice: '请重新生成，下一次结果可能通过。若连续两次失败，请调整提示词。',
  },
  no_result: {
    text: '供应商报告成功，但没有提供视频。',
    advice: '请重新生成。',
  },
  vendor_busy: {
    text: '供应商当前请求过多。',
    advice: '请几分钟后重试，或改用其他模型。',
  },
  vendor_trouble: {
    text: '供应商内部出错。',
    advice: '请几分钟后重试，或改用其他模型。',
  },
  vendor_check_down: {
    text: '供应商的内容审核服务不可用，暂不接受视频请求。',
    advice: '请稍后重试，或改用其他供应商的模型。',
  },
  unreachable: {
    text: '无法连接供应商。',
    advice: '请几分钟后重试。若仍然失败，请联系客服。',
  },
  account_trouble: {
    text: '本服务与供应商的连接需要处理。',
    advice: '请暂时使用其他模型。该问题只能由管理员解决，请联系客服。',
  },
  model_unavailable: {
    text: '该模型目前无法使用。',
    advice: '请选择其他模型，或联系客服开通。',
  },
  channel_removed: {
    text: '管理员移除了生成该视频所用的渠道。',
    advice: '请重新生成。',
  },
  expired: {
    text: '供应商已没有该视频的记录。',
    advice: '请重新生成。',
  },
  timeout: {
    text: '视频未能按时完成。',
    advice: '请重新生成；若仍然过慢，请改用其他模型。',
  },
  unconfirmed: {
    text: '供应商始终没有确认已开始生成该视频。',
    advice: '请重新生成。',
  },
  cancelled: {
    text: '供应商取消了该视频。',
    advice: '请重新生成。若再次被取消，请联系客服。',
  },
  unknown: {
    text: '供应商未能生成该视频。',
    advice: '请重试或修改提示词。若仍然失败，请联系客服。',
  },
} satisfies Readonly<Record<FailureCause, FailureText>>;
