import type en from '../en/shortcuts.ts';
import type { Translated } from '../namespaces.ts';

export default {
  title: '键盘快捷键',
  search: '搜索页面和操作',
  list: '显示此列表',
  send: '发送',
  newLine: '换行',
  turn: '上一个或下一个视频',
  submit: '生成',
  prompt: '跳到提示词',
  model: '选择模型',
  compare: '对比模型',
  recent: '跳到最近的视频',
  reuse: '再次使用视频的设置',
  vary: '再来一版',
  extend: '续拍视频',
  edit: '编辑视频',
  lastFrame: '使用尾帧',
  settingsText: '按“?”查看当前页面的快捷键。',
  single: '单键快捷键',
  singleHint: '使用语音输入时请关闭。带 Ctrl 或 ⌘ 的快捷键始终有效。',
} satisfies Translated<typeof en>;
