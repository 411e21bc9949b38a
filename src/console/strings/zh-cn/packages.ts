import type en from '../en/packages.ts';
import type { Translated } from '../resources.ts';

export default {} satisfies Translated<typeof en>;
