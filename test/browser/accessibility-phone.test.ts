import { checkAccessibilityOfEveryPage } from './check-accessibility.ts';

checkAccessibilityOfEveryPage({ language: 'zh-cn', scheme: 'dark', width: 360, height: 740 });
