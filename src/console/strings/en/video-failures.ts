export { FAILURES_EN as default } from '../../../contract/localized-messages/video-failures-en.ts';
