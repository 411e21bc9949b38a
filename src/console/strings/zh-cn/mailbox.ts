import type en from '../en/mailbox.ts';
import type { Translated } from '../resources.ts';

export default {} satisfies Translated<typeof en>;
