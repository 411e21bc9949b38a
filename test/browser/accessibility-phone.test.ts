import { checkPagesAccessibility } from './check-accessibility.ts';

checkPagesAccessibility({ language: 'zh-cn', scheme: 'dark', width: 360, height: 740 });
