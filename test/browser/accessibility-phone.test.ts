import { checkAccessibilityOfEveryPage } from './check-accessibility-of-every-page.ts';

checkAccessibilityOfEveryPage({ language: 'zh-cn', scheme: 'dark', width: 360, height: 740 });
