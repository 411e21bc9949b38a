import type en from '../en/messages.ts';
import type { Translated } from '../resources.ts';

export default {} satisfies Translated<typeof en>;
