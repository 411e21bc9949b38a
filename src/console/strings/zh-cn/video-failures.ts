export { FAILURES_ZH_CN as default } from '../../../contract/messages/failures-zh-cn.ts';
