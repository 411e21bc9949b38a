import { Textarea } from '@mantine/core';

/** A text area that measures its content, for browsers that cannot size it by CSS. */
export default Textarea;
