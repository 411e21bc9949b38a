import { describeAccessibility } from './accessibility-walk.ts';

describeAccessibility({ language: 'zh-cn', scheme: 'dark', width: 360, height: 740 });
