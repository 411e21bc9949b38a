export { FAILURES_ZH_CN as default } from '../../../contract/localized-messages/video-failures-zh-cn.ts';
