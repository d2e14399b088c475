package io.firstcome.spring;

import io.firstcome.client.FirstcomeClient;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.BeanFactory;

/** Puts the interceptor of {@link FirstCome} around beans with such methods, outside of all other advice. */
public final class FirstComePostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {
    private static final long serialVersionUID = 1L;

    /** Makes it; the client is looked up at the first call, so that no bean is made too early. */
    public FirstComePostProcessor() {
        setBeforeExistingAdvisors(true);
        setProxyTargetClass(true);
    }

    @Override
    public void setBeanFactory(BeanFactory beans) {
        super.setBeanFactory(beans);
        FirstComeInterceptor interceptor = new FirstComeInterceptor(beans, () -> beans.getBean(FirstcomeClient.class));
        this.advisor = new DefaultPointcutAdvisor(new AnnotationMatchingPointcut(null, FirstCome.class, true), interceptor);
    }
}
