export { FAILURES_EN as default } from '../../../contract/messages/failures-en.ts';
