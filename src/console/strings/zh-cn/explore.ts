import type en from '../en/explore.ts';
import type { Translated } from '../namespaces.ts';

export default {
  title: '灵感',
  lead: '从这些提示词开始，点击即可填入工作室。',
  ideas: {
    aurora: { title: '极光', prompt: '极光在雪山脊上流动，星空缓缓旋转，广角，延时摄影' },
    city: { title: '城市夜色', prompt: '蓝调时刻的城市天际线，窗灯逐一亮起，无人机缓慢前推' },
    forest: { title: '雾中森林', prompt: '晨雾在高大的冷杉间飘动，光束穿过林间，缓慢横移，35 毫米胶片质感' },
    mountains: { title: '群山叠嶂', prompt: '日出时层叠的蓝色群山，低云穿过山谷，航拍视差' },
    planet: { title: '环形行星', prompt: '带光环的行星从小卫星后升起，长影，镜头缓慢环绕，电影感' },
    road: { title: '沙漠公路', prompt: '黄昏时行驶在笔直的沙漠公路上，热浪蒸腾，暖光，低角度' },
    sea: { title: '傍晚的海', prompt: '低垂的太阳下波浪轻涌，水面闪光，镜头贴近海面，慢动作' },
    silk: { title: '风中丝绸', prompt: '红色丝绸在暗色影棚中缓缓飘动折叠，慢动作，柔和轮廓光' },
    street: { title: '雨夜街道', prompt: '黄昏雨巷，一只纸船顺水漂流，霓虹倒影，低机位跟拍' },
    portrait: { title: '窗边光影', prompt: '窗边女子特写，转向光线微笑，浅景深' },
    desert: { title: '沙漠风沙', prompt: '正午沙漠，风从沙丘脊线扬起细沙，缓慢航拍滑行，长影，暖色薄雾' },
    clouds: { title: '云端飞行', prompt: '金色阳光中飞越白云，云峰缓缓掠过，平稳航拍' },
  },
} satisfies Translated<typeof en>;
