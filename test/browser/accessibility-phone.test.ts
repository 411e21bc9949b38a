import { describeAccessibility } from './describe-accessibility.ts';

describeAccessibility({ language: 'zh-cn', scheme: 'dark', width: 360, height: 740 });
